"""Messages as people paste them, with their own shapes, devices and node names, and pieces that they remember.

(what is typed into the site's search, the beginning of the title of the page that has to come first)
"""

INPLACE = "one of the variables needed for gradient computation has been modified"
TWICE = "Trying to backward through the graph a second time"
NO_GRAD_FN = "element 0 of tensors does not require grad"

WORDINGS = (
    ("RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
     "[torch.cuda.FloatTensor [512, 256]], which is output 0 of AsStridedBackward0, is at version 3; expected version "
     "2 instead. Hint: the backtrace further above shows the operation that failed to compute its gradient.", INPLACE),
    ("modified by an inplace operation", INPLACE),
    ("variables needed for gradient computation modified inplace", INPLACE),
    ("[torch.cuda.HalfTensor [8, 12, 197, 197]], which is output 0 of SoftmaxBackward0, is at version 1; expected "
     "version 0 instead", INPLACE),
    ("RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they "
     "have already been freed). Saved intermediate values of the graph are freed when you call .backward()", TWICE),
    ("Trying to backward through the graph a second time, but the buffers have already been freed. Specify "
     "retain_graph=True when calling backward the first time.", TWICE),
    ("backward through the graph a second time", TWICE),
    ("element 0 of tensors does not require grad and does not have a grad_fn", NO_GRAD_FN),
    ("does not require grad and does not have a grad_fn", NO_GRAD_FN),
    ("RuntimeError: element 3 of tensors does not require grad and does not have a grad_fn", NO_GRAD_FN),
    ("a leaf Variable that requires grad is being used in an in-place operation.", "a leaf Variable that requires"),
    ("RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.",
     "a view of a leaf Variable"),
    ("leaf variable has been moved into the graph interior", "leaf variable has been moved"),
    ("Output 0 of UnbindBackward0 is a view and is being modified inplace. This view is the output of a function that "
     "returns multiple views.", "Output 0 of Split is a view"),
    ("A view was created in no_grad mode and is being modified inplace with grad mode enabled", "A view was created"),
    ("RuntimeError: grad can be implicitly created only for scalar outputs", "grad can be implicitly created"),
    ("implicitly created only for scalar", "grad can be implicitly created"),
    ("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.", "Can't call numpy()"),
    ("you can only change requires_grad flags of leaf variables", "you can only change requires_grad"),
    ("Only Tensors of floating point and complex dtype can require gradients", "Only Tensors of floating point"),
    ("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment",
     "Only Tensors created explicitly"),
    ("UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
     "won't be populated during autograd.backward().", "The .grad attribute of a Tensor"),
    ("AttributeError: 'NoneType' object has no attribute 'zero_'", "'NoneType' object has no attribute 'zero_'"),
    ("One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
     "the desired behavior.", "The differentiated Tensor at index 0"),
    ("Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor",
     "Inference tensors cannot be saved"),
    ("ValueError: can't optimize a non-leaf Tensor", "can't optimize a non-leaf"),
    ("RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.", "Function 'SqrtBackward0'"),
    ("torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
     "forward pass.", "torch.utils.checkpoint: Recomputed values"),
    ("RuntimeError: The size of tensor a (64) must match the size of tensor b (32) at non-singleton dimension 1",
     "The size of tensor a"),
    ("view size is not compatible with input tensor's size and stride. Use .reshape(...) instead", "view size is not"),
    ("None of the inputs have requires_grad=True. Gradients will be None", "None of the inputs have"),
    ("mat1 and mat2 shapes cannot be multiplied (32x784 and 512x10)", "mat1 and mat2 shapes"),
    ("Function LinearBackward returned an invalid gradient at index 1 - got [64, 10] but expected shape compatible "
     "with [10, 64]", "Function FnBackward returned an invalid gradient"),
)  # fmt: skip
