"""What `explain()` knows about shapes, element types, indexes and arguments: errors of a forward line by itself.

They need no graph, so no lesson is about them; the rows are of the same kind as about graphs (rows.py).
"""

from backscope.explaining.rows import Row

AT_ONCE = "{raised}"  # the sentence of explain.RAISED that is true of the error: a hook, too, can add wrong shapes

SHAPES = (
    Row(
        "broadcast",
        r"size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\) at non-singleton dimension "
        r"(?P<dim>\d+)",
        (
            "Two tensors should be combined element by element, and in dimension {dim} one has length {a}, the other "
            "{b}.",
            "Shapes are compared from the last dimension backwards; lengths fit if they are equal or one of them is 1.",
            AT_ONCE,
        ),
        ("Print both shapes.", "Add a dimension where one is missing: `t[:, None]`, `t.unsqueeze(0)`."),
        (("reshape until it fits", "no error; elements meet that do not belong together"),),
    ),
    Row(
        "write too wide",
        r"output with shape (?P<got>\[.*?\]) doesn't match the broadcast shape (?P<wanted>\[.*?\])",
        (
            "An in-place operation has a result of shape {wanted}, and the tensor that it should be written to has "
            "{got}.",
            "An operand may be stretched to fit the tensor written to, never the other way round.",
            AT_ONCE,
        ),
        ("Write out of place: `y = x + t`.", "Expand and clone the target first."),
    ),
    Row(
        "expand",
        r"expanded size of the tensor|number of sizes provided|in a leading, non-existing dimension|not expandable to|"
        r"Attempting to broadcast a dimension of length|All input tensors should have same dimension|"
        r"size mismatch \(got input|"
        r"Number of dimensions of repeat dims|does not broadcast|shapes .* cannot be broadcast together",
        (
            "A tensor should be stretched to a shape that it does not fit, or summed down to one.",
            "Only dimensions of length 1 can be stretched; new ones can be added in front, and -1 keeps a length.",
            AT_ONCE,
        ),
        ("Compare the shapes from the back.", "`unsqueeze` puts a dimension of length 1 where it is needed."),
    ),
    Row(
        "view of strides",
        r"view size is not compatible with input tensor's size and stride",
        (
            "view() should give the same memory another shape, and the elements do not lie in the order for it.",
            "After transpose, permute or a slice they lie in another order than they are read in.",
            AT_ONCE,
        ),
        ("`reshape()`: a view where that is possible, a copy where not.", "`t.contiguous().view(…)`: here a copy."),
        (),
        8,
    ),
    Row(
        "reshape",
        r"shape '(?P<wanted>.*?)' is invalid for input of size (?P<got>\d+)|only one dimension can be inferred|"
        r"cannot reshape "
        r"tensor of|invalid shape dimension|Trying to create tensor with negative dimension|multiply up to the size|"
        r"Dimension size must be non-negative",
        (
            "The new shape cannot hold the tensor's elements: the lengths must multiply to their number.",
            "One length may be -1 and is worked out from the others; no other negative number means anything.",
            AT_ONCE,
        ),
        ("Multiply the lengths and compare with `t.numel()`.", "Keep the first dimension: `t.reshape(len(t), -1)`."),
    ),
    Row(
        "dimension",
        r"Input tensors must have \d or fewer|boundaries tensor must be|supports at least 2D|tensor in the tensor list|"
        r"only accept 1D vector|repeats must be 0-dim|batches of square matrices, but|"
        r"Expected 1-D argument|dimensions cannot be identical|repeated dim in|(two|one) or fewer dimensions|"
        r"must have the same number of dimensions\.|no dimension of size 3|must have length 3|rotation dims|total dims|"
        r"Expect a 1D vector|must be 1 or 2 dim|q must be a scalar or 1D|"
        r"shifts and dimensions must align|start_dim cannot come after end_dim|"
        r"trace: expected a matrix|diff expects|diag\(\): Supports|"
        r"appears multiple times in the list of dims|only supported on matrices|outer: Expected 1-D|"
        r"Dimension out of range|Dimension specified as -?\d+ but tensor has no dimensions|duplicate dims|"
        r"number of dimensions "
        r"in the tensor input does not match|expects a tensor with <= 2 dimensions|must have at least 2 dimensions|"
        r"Supports 1D or 2D tensors|expected a matrix, but got|Input must be >= \d-d|dimensions must larger than 1|"
        r"all dimensions of input must be of equal length|at least one-dimensional|shifts and dimensions must align|"
        r"normalized_"
        r"shape|must have the same number of columns|Invalid source or destination dims",
        (
            "A dimension was named that the tensor does not have, or one of them twice; or the tensor has too "
            "few or too "
            "many of them, or one of a length that this operation does not take.",
            "Dimensions count from 0, from the back -1, -2 and so on; permute needs each of them once.",
            AT_ONCE,
        ),
        ("Print `t.shape`; a dimension lost by sum() can be kept with keepdim=True.",),
    ),
    Row(
        "join",
        r"[Ss]izes of tensors must match|same number of dimensions: got|cannot be concatenated|expected a non-empty|"
        r"non-empty TensorList|stack expects each|each element in list of batch|Size mismatch between tensors",
        (
            "Tensors should be joined, and they do not fit.",
            "cat needs equal lengths in all other dimensions; stack needs equal shapes and adds a dimension; neither "
            "joins "
            "nothing.",
            AT_ONCE,
        ),
        ("Print the shapes of the list.", "Numbers are joined by stack, not by cat."),
    ),
    Row(
        "split",
        r"start must be an 0-dim|sections must be larger than 0|indices_or_sections to have|"
        r"requires a tensor with at least \d+ dimension|attempted to split along|"
        r"split_sizes to sum exactly|split_size can only be 0|split expects at least|chunk expects|"
        r"start \(\d+\) \+ length|split_sizes? (be|have only) non-negative|"
        r"start out of range|narrow\(\): length",
        (
            "A piece was asked for that the dimension does not have, or not in whole numbers.",
            "The lengths of pieces must add up to the whole, a start must lie inside of it or at its end, and "
            "nothing is "
            "shorter than 0.",
            AT_ONCE,
        ),
        ("Compare with `t.shape[dim]`.",),
    ),
    Row(
        "matrix product",
        r"tensordot expects|inner\(\) the last dimension|"
        r"contracted dimensions need to|dimension lists should have same length|"
        r"mat1 and mat2 shapes cannot be multiplied|and mat2 must have the same dtype|size mismatch, (got )?input|"
        r"inconsistent tensor size|1D tensors expected|must be a matrix|vector \+ matrix @ vector|must be a 3D tensor|"
        r"both arguments to matmul|first two dimensions of batch2|m1 and m2 to have the same dtype|"
        r"both vectors to have same dtype|both inputs should have same dtype|"
        r"Expected size .* but got",
        (
            "Two tensors should be multiplied as matrices, and they cannot.",
            "The last length of the first must equal the last but one of the second: (n, k) @ (k, m); all have one "
            "element type, also what is added to the product.",
            AT_ONCE,
        ),
        ("Print both shapes; nn.Linear(k, m) wants inputs of length k.", "Transpose one of them: `a @ b.T`."),
    ),
    Row(
        "einsum",
        r"einsum\(\): ",
        (
            "The equation given to einsum does not describe its operands, or its letters do not.",
            "Before the arrow stands one letter a dimension of each operand, operands apart by commas; a letter means "
            "one length everywhere, or 1, and the result's letters are among them, each once.",
            AT_ONCE,
        ),
        ("Write the shapes below the letters: `'ij,jk->ik'` for (2, 3) and (3, 4).",),
    ),
    Row(
        "singular",
        r"input matrix is singular",
        (
            "A matrix should be inverted, or an equation solved with it, and it has no inverse.",
            "Its rows depend on each other: some vector other than 0 is sent to 0, and nothing leads back.",
            AT_ONCE,
        ),
        ("Add a small multiple of the identity.", "Print `numpy.linalg.det(a.detach().numpy())`: it is 0 here."),
    ),
)

INDEXES = (
    Row(
        "index",
        r"index \S+ is out of range|out of bounds for dimension|out of DATA bounds|out of range for tensor|"
        r"index out of range in self|"
        r"index -?\d+ is out|tried to access index|take from an empty tensor",
        (
            "An element was asked for that lies outside of a dimension.",
            "Indexes run from 0 to length - 1, and from -1 to -length from the back.",
            AT_ONCE,
        ),
        ("Print the index's smallest and largest value and `t.shape`.",),
    ),
    Row(
        "too many indexes",
        r"too many indices|invalid index of a 0-dim|cannot be applied to a 0-dim|len\(\) of a 0-d|iteration over a 0-d",
        (
            "A tensor of no or few dimensions was treated as one with more.",
            "A tensor without dimensions holds one number: it has no length and no items.",
            AT_ONCE,
        ),
        ("`t.item()` for the number, `t.reshape(1)` for a vector of one.",),
    ),
    Row(
        "no index",
        r"valid indices|Expected a long tensor for index|index_select\(\): Expected dtype|"
        r"tensors used as indices must be|only integer tensors of a single element|expected dtype "
        r"int32|Expected dtype int|[Ee]xpected tensor for argument .* to have|dtype int32/int64|step must be greater|"
        r"slice "
        r"step cannot",
        (
            "Something was used as an index that is none.",
            "Indexes are integers, slices with a positive step, None, `...`, and lists or tensors of integers "
            "or bools.",
            AT_ONCE,
        ),
        ("Convert: `i.long()` for positions, `m > 0` for a mask.", "`t.flip(0)` reads backwards."),
    ),
    Row(
        "mask",
        r"shape of the mask|expected BoolTensor for mask|only supports boolean masks|condition to be a boolean",
        (
            "A mask does not fit: it must be of bools, in `t[m]` as long as the first dimensions of `t`, and "
            "elsewhere of a "
            "shape that can be stretched to that of `t`.",
            "An int64 tensor of 0 and 1 is a list of positions in `t[…]`, not a mask.",
            AT_ONCE,
        ),
        ("Compare to get a mask: `m = t > 0`, or convert with `.bool()`.",),
    ),
    Row(
        "index shapes",
        r"indexing tensors could not be broadcast|cannot be broadcast to indexing result|"
        r"Index tensor must have the same number|Index to scalar can have|self indexing axis dim|"
        r"to be no larger than self|Index is supposed to be a vector|Number of indices|source tensor shape must match|"
        r"Index put requires|0-dimensional value tensor|0-dimension value tensor|"
        r"Index should have dimension|index should have one element|dimensionality must match|Index has to be a vector|"
        r"should have the same number of dimensions, but got|Number of elements of source|to the slice of self|"
        r"same slice shapes|selected (?:index|number) k out of range",
        (
            "What is picked, how many, where, and what is written there do not fit together in shape or element type.",
            "Several index tensors are broadcast against each other; gather and scatter want an index with as many "
            "dimensions as the tensor.",
            AT_ONCE,
        ),
        ("Print the shapes of tensor, index and value.",),
    ),
)

TYPES = (
    Row(
        "cast",
        r"result type (?P<got>\w+) can't be cast to the desired output type (?P<wanted>\w+)",
        (
            "An in-place operation has a result of type {got}, and it should be written into a tensor of {wanted}.",
            "A write keeps the target's element type, and this conversion would lose something.",
            AT_ONCE,
        ),
        ("Write out of place, or convert the target first: `t = t.float()`.",),
    ),
    Row(
        "two types",
        r"tensors with different dtypes|must be same dtype as|"
        r"self\.dtype to be equal to src\.dtype|must have the same scalar type|"
        r"same dtype, but got|Found dtype \w+ but expected|"
        r"to have same dtypes but got|expected scalar type \w+ but found|\w+ did not match \w+$|expected dtype \w+ for|"
        r"Could not set tensor of type",
        (
            "Two tensors of different element types met in an operation that takes only one.",
            "Arithmetic finds a common type by itself; matrix products and comparisons of closeness do not.",
            AT_ONCE,
        ),
        ("Convert one of them: `b.to(a.dtype)`.", "Look for the line that made it: NumPy's numbers are float64."),
    ),
    Row(
        "number of another type",
        r"value cannot be converted to type|[Bb]oolean alpha only|For integral input tensors, argument alpha",
        (
            "A number was given that the tensor's element type cannot hold, or that is of another kind than it.",
            "Integers hold no fractions and no infinity, bools only True and False.",
            AT_ONCE,
        ),
        ("Convert the tensor first: `t.float()`.", "Give a number of the tensor's own kind."),
    ),
    Row(
        "element type",
        r"only supports floating-point|must be either float or double|dtype must be a floating point|"
        r"to have floating point|could not infer output dtype|only support floating point|not implemented for '|"
        r"either floating point or complex|Boolean inputs not supported|"
        r"does not "
        r"support bool|bool tensors? is not supported|on a bool tensor|Integers to negative integer powers|"
        r"operator\.invert|Integer division with addcdiv|"
        r"Unsupported input type encountered|"
        r"Expected a floating point|target dtype to be|Class values",
        (
            "This operation does not exist for this element type.",
            "Means and everything that is differentiated need floating point; `~ & |` need bools or integers.",
            AT_ONCE,
        ),
        (
            "Convert first: `t.float()`, `t.long()`, `t.bool()`.",
            "Write numbers with a point: `torch.tensor([1., 2.])`.",
        ),
    ),
    Row(
        "integer division",
        r"ZeroDivisionError",
        (
            "Integers were divided by zero.",
            "Floating point has inf and nan for that, integers have nothing.",
            AT_ONCE,
        ),
        ("Convert to floating point, or keep zeros out.",),
    ),
    Row(
        "nothing to reduce",
        r"input tensor must be non-empty|Expected reduction dim|to have non-zero size|does not have an identity",
        (
            "The largest or smallest element of nothing was asked for.",
            "A sum of nothing is 0, but there is no largest element.",
            AT_ONCE,
        ),
        ("Handle empty tensors first: `if t.numel():`.",),
    ),
    Row(
        "one number",
        r"cannot be converted to Scalar|only one element tensors can be converted|Boolean value of Tensor|truth value",
        (
            "A tensor should be turned into one number, or into True or False, and it does not have exactly one "
            "element.",
            "`if t > 0` asks one question of many elements.",
            AT_ONCE,
        ),
        ("`(t > 0).all()` or `.any()`; `t.tolist()` for all the numbers.",),
    ),
    Row(
        "making a tensor",
        r"data must be a sequence|'\w+' object cannot be interpreted as an integer|expected TensorOptions|"
        r"Overflow when unpacking|"
        r"too many dimensions '|expected sequence of length|not a sequence|must be real number|expected np\.ndarray|"
        r"could not determine the shape",
        (
            "A tensor, or an integer that is needed, cannot be made of this.",
            "It needs numbers in lists that are equally deep and equally long, and integers of at most 64 bits; "
            "from_numpy "
            "needs a NumPy array, and DoubleTensor and its like a tensor of their own type.",
            AT_ONCE,
        ),
        ("Pad lists to one length, or keep a list of tensors.",),
    ),
    Row(
        "walked backwards",
        r"stride in the given numpy array is negative",
        (
            "The NumPy array is a view that is walked backwards, such as `a[::-1]`, and a tensor cannot share that.",
            "NumPy allows steps below zero, PyTorch does not.",
            AT_ONCE,
        ),
        ("`torch.from_numpy(a.copy())`.", "Make the tensor first and use `t.flip(0)`."),
    ),
    Row(
        "argument",
        r"searchsorted\(\): |histc: |bins must be|Indexing dim \d|"
        r"torch\.Size\(\) takes|must be a type, str, or dtype|invalid type: |indexing must be one of|"
        r"unsupported range|[ra]tol must be|interpolation must be|reduce argument must|q must be in|q values must be|"
        r"value for each sample point|preserve memory format|expects lambda|"
        r"should be called with|module should be of type|supports only objects|is not an Optimizer|Unexpected keyword|"
        r"increment_version expect|told where to end|invalid combination of arguments|"
        r"incompatible function arguments|expected TensorOptions|"
        r"argument '\w+'.*must be|unsupported operand type|cannot be combined with|must be int, not|"
        r"missing (\d+|a) required|must be "
        r"(tuple|a tuple)|expected Tensor as element|must not be None|rounding_mode|takes at most|unexpected keyword|"
        r"must be "
        r"Tensor|got an unexpected|takes \d+ positional|expected torch\.Tensor",
        (
            "A function was called with an argument of a kind or value that it does not take, or without one "
            "that it needs.",
            "The message says what was given, or what is taken.",
            AT_ONCE,
        ),
        ("Look at the function's help: `help(torch.add)`.", "Wrap a number: `torch.tensor(3.)`."),
    ),
    Row(
        "chances",
        r"cannot sample n_sample|probability tensor contains|sum of probabilities",
        (
            "Places should be drawn with chances that are none, or more of them than there are, or none at all.",
            "Chances are numbers from 0 on, not all of them 0; without replacement each place is drawn once at most.",
            AT_ONCE,
        ),
        ("`F.softmax(scores, -1)` makes chances of any numbers.", "Draw with `replacement=True`."),
    ),
    Row(
        "old habit",
        r"only_inputs argument|`?grad_variables`?|should not be instantiated|Decorating classes is deprecated",
        (
            "Something was written as it was for an older PyTorch.",
            "The message says what took its place; where it is a warning, some old forms still work, and "
            "only_inputs does "
            "nothing any more.",
            AT_ONCE,
        ),
        ("Leave `only_inputs` out, write `grad_tensors`, call `F.apply(x)`, decorate functions and not classes.",),
    ),
    Row(
        "unknown name",
        r"has no '\w+'|has no attribute|No module named",
        (
            "A name was asked for that is not there.",
            "It is misspelt, belongs to another object, or is a part of PyTorch that this engine leaves out.",
            AT_ONCE,
        ),
        ("`dir(…)` lists what there is.",),
    ),
)

NETWORKS = (
    Row(
        "loss shapes",
        r"Target size \(.*\) must be the same|match target batch_size|Expected target size|multi-target not supported|"
        r"Using a "
        r"target size|target tensor expected|Target \d+ is out of bounds|weight tensor should be|"
        r"is not a valid value for "
        r"reduction|label_smoothing|for beta|for delta",
        (
            "A loss got predictions and targets that do not fit, or a setting that it does not take.",
            "cross_entropy and nll_loss want (N, classes) and N class numbers of type int64; most others want equal "
            "shapes.",
            AT_ONCE,
        ),
        ("Print both shapes and element types.", "`target.squeeze(1).long()` is often what is missing."),
        (("letting it broadcast", "mse_loss of (N, 1) and (N,) is a mean over all N² pairs, of which N are meant"),),
    ),
    Row(
        "convolution",
        r"Given (groups|normalized_shape|weight)|[Kk]ernel size|in_channels|out_channels|padding='same'|(un)?batched|"
        r"Given "
        r"input size|must be a positive integer|expected .*D.* input|Expected .*input to be|input\.size\(-1\)|"
        r"input has "
        r"inconsistent",
        (
            "A layer got an input of another shape than it was made for, or cannot be made in this way.",
            "Conv2d wants (batch, channels, height, width) or the same without batch, recurrent layers a last "
            "length of "
            "input_size.",
            AT_ONCE,
        ),
        ("Print `x.shape` in front of the layer.",),
    ),
    Row(
        "normalisation",
        r"more than 1 value per channel|must be defined in evaluation mode|should contain \d+ elements",
        (
            "A normalisation layer cannot compute a mean and a spread here, or has another number of channels.",
            "In training mode each channel needs more than one value; what is told to use running statistics must have "
            "them.",
            AT_ONCE,
        ),
        (
            "Use larger batches, or `model.eval()` for single samples.",
            "Make it for the channels: `x.shape[1]` of them.",
        ),
        (),
        10,
    ),
    Row(
        "module",
        r"before Module\.__init__\(\) call|missing the required \"forward\"|is not a Module subclass|parameter name|"
        r"module name|"
        r"buffer name|already exists|as (parameter|child module|buffer)|Cannot assign|cannot assign|not an nn\.Module|"
        r"in "
        r"loading state_dict|state_dict to be dict-like|can't contain \"\.\"|name should be a string|"
        r"name can't be empty|"
        r"training mode is expected",
        (
            "A module was built, loaded or switched in a way that it does not take.",
            "Parameters and modules are noticed when they are assigned as attributes, after super().__init__().",
            AT_ONCE,
        ),
        (
            "Call `super().__init__()` first.",
            "Compare the keys and shapes in `model.state_dict()` with what is loaded.",
        ),
    ),
    Row(
        "not written",
        r"Subclasses of \w+ should implement",
        (
            "A method was called that the class itself does not have, only its base class.",
            "The base class names what a subclass must write, and raises.",
            AT_ONCE,
        ),
        ("Write the method that the message names.",),
    ),
    Row(
        "only weights",
        r"Weights only load failed",
        (
            "A file was loaded that holds more than tensors, numbers and text in lists and dictionaries.",
            "Reading other objects runs code that the file names; without being told, load refuses to.",
            AT_ONCE,
        ),
        ("Save `model.state_dict()` instead of the model.",),
        (("torch.load(file, weights_only=False)", "whoever wrote the file decides what runs on your machine"),),
    ),
    Row(
        "other value",
        r"repeats must have the same|order must be non-negative|`shifts` required|"
        r"set_num_threads expects|can't alias|is not one of 'highest'|"
        r"empty list of sequences|Expected iterable for|padding_side to be one|"
        r"minlength should be|weights should be 1-d and|size is -\d|[Rr]epeats (must be|can not be) n|"
        r"(row|col) must be non-negative|Expect a non-negative number|non-negative p values|with negative length!|"
        r"Expects mode to be|1 or more dimensions|should be between 0 and 1|determinism_check should|default_collate|"
        r"only accepts floating point|Expected \d+ \w+, but got|"
        r"dropout probability|Padding_idx|num_embeddings|min_val|approximate argument|[Ff]actor|mode .* is unknown|"
        r"not supported, "
        r"please use|Unsupported nonlinearity|Unknown nonlinearity|Fan in|2 dimensions are supported|"
        r"batch_size should|sampler "
        r"option|is mutually exclusive|index should not exceed|input lengths|At least one of|step must be nonzero|"
        r"upper bound and lower bound|number of steps must|n must be greater or equal|random_ expects|"
        r"bernoulli_ expects|uniform_ expects|"
        r"normal expects|but must be > 0|Could not infer dtype|invalid data type|can't assign a [\w.]+ to a|"
        r"Expected p_in|bincount only supports|does not support deleting|info\(\) requires an?|not supported by torch|"
        r"without narrowing|RNG state is|expected a long|expected a torch\.ByteTensor|"
        r"__contains__ only supports|"
        r"mark_dirty can only|attribute is expected to be|objects is not readable|"
        r"mark_non_differentiable only|all inputs have to be Tensors|"
        r"maximum size for tensor at|mismatch in length of strides|Negative strides|setStorage: sizes|"
        r"To copy construct from a tensor|Deleting tensor data is not|Expected output to be a",
        (
            "What was asked for is refused, or advised against: an argument is of a value or a kind that is not "
            "taken, or "
            "tensors cannot do it.",
            "The message says what is wrong with it.",
            AT_ONCE,
        ),
        ("Give a value or a kind that the message allows.", "A copy of a tensor: `t.detach().clone()`."),
    ),
)

ROWS = SHAPES + INDEXES + TYPES + NETWORKS
