"""Calls that are refused: arguments of the wrong kind, number or shape, and what is said of them.

Each program stands for a table of expressions. Of an error its type and its first line are compared, of what is not
refused the value. Where PyTorch raises an error of Python's own (`len() of None`) there is nothing to compare.
"""

import itertools

from kit import program, programs, raises

TABLES = {
    "values_that_do_not_fit": """
        x.__setitem__(m,S) | x.__setitem__(m,T.ones(3)) | x.__setitem__(m,2.) | T.normal(x,T.ones(5))
        | T.normal(T.ones(5),x) | T.linalg.solve(i.reshape(1,2),i) | F.linear(x,T.ones(7,3),T.ones(2))
        | x.addcdiv_(T.ones(3,2,3),x) | T.where(T.ones(5)>0,1,x)
    """,
    "shapes_of_two": """
        F.conv2d(c,w,groups=3) | F.conv2d(T.ones(1,4,4,4),T.ones(3,2,3,3),groups=2) | x.permute(0,5,1)
        | x.permute(0,1,1) | x.permute(5,0) | x.index_add_(1,i,v) | x.index_add_(1,i,z) | x.split(x)
        | x.split(T.tensor([1,1]))
    """,
    "by_name_1": """
        T.add(x,x,out="a") | T.mul(x,x,out=[1]) | F.conv2d(c,k,padding=None) | F.conv2d(c,k,padding=1.5)
        | F.conv2d(c,k,padding=[]) | F.conv2d(c,k,padding=[1,2,3]) | F.conv2d(c,k,stride=())
        | F.conv2d(c,k,stride=[1,2,3]) | F.conv2d(c,k,dilation=()) | F.conv2d(c,k,dilation=[1,2,3])
        | F.conv1d(l,T.ones(1,2,2),stride=[1,2]) | F.conv1d(l,T.ones(1,2,2),padding=[1,2])
    """,
    "by_name_2": """
        F.cross_entropy(x,i,ignore_index="a") | F.cross_entropy(x,i,ignore_index=1.5)
        | F.cross_entropy(x,i,label_smoothing="a") | F.cross_entropy(x,i,label_smoothing=None)
        | F.nll_loss(x,i,ignore_index="a") | F.nll_loss(x,i,ignore_index=None)
    """,
    "by_name_3": """
        F.nll_loss(x,i,ignore_index=True) | F.dropout(x,.5,1) | F.dropout(x,.5,None) | F.dropout(x,.5,training="a")
        | F.max_pool2d(c,1,dilation=-1) | F.max_pool2d(c,1,dilation=0) | T.nonzero(x,as_tuple=1) | x.max(keepdim=True)
        | x.min(keepdim=True) | x.prod(keepdim=True) | x.median(keepdim=True)
    """,
    "by_name_4": """
        F.cosine_similarity(x,x,eps=-1.)
    """,
    "functions_of_nn_1": """
        F.one_hot(i,"a") | F.one_hot(i,True) | F.one_hot(i,2.0) | F.one_hot(i,i)
        | F.softplus(x,1,None) | F.threshold(x,None,1) | F.leaky_relu(x,None)
        | F.softmax(x,0,5) | F.softmax(x,"a") | F.softmax(x,0,dtype=1) | F.embedding(i,"a")
        | F.embedding(i,None) | F.scaled_dot_product_attention(T.ones(3),x,x)
    """,
    "functions_of_nn_2": """
        F.scaled_dot_product_attention(T.ones(0),x,x) | F.scaled_dot_product_attention(x,x,T.ones(()))
        | F.pad(x,["a","b"]) | F.pad(x,[[1],[2]]) | F.rms_norm(x,3) | F.glu(x,5) | F.linear(x,x,"a")
        | F.batch_norm(T.ones(3),None,None,training=True)
    """,
    "losses": """
        F.cross_entropy(x,i,"a")
        | F.cross_entropy(x,x,T.ones(())) | F.nll_loss(x,i,"a") | F.nll_loss(x,i,T.ones(3,dtype=T.int64))
        | F.binary_cross_entropy_with_logits(x,x,"a") | F.binary_cross_entropy_with_logits(x,x,pos_weight="a")
        | F.huber_loss(x,x,delta="a")
    """,
    "matrices_1": """
        T.linalg.solve(S,T.ones(3)) | T.linalg.solve(S,T.ones(())) | T.linalg.solve(S,i) | T.linalg.norm(x,"a")
        | T.linalg.norm(x,[1]) | T.linalg.norm(T.ones(()),1) | T.linalg.norm(T.ones(2,2,2),1) | T.linalg.norm(x,0,())
        | T.linalg.norm(x,1,[]) | T.linalg.matrix_norm(x,"a")
    """,
    "matrices_2": """
        T.linalg.matrix_norm(x,None) | T.linalg.matrix_norm(x,3) | T.linalg.matrix_norm(x,1,())
        | T.linalg.matrix_norm(x,1,(0,)) | T.linalg.vector_norm(x,"a") | T.linalg.vector_norm(x,None)
    """,
    "numbers_and_types_1": """
        T.add(1,2) | T.add(1,2.5,alpha=2) | T.sub(True,1) | T.mul(True,True) | T.mul(2,2.5) | T.div(True,2)
        | T.div(1,0) | T.div(7,2,rounding_mode="trunc") | T.floor_divide(-7.5,2) | T.floor_divide(7,0)
        | T.add(1,2,out=T.ones(())) | T.add(1,"a") | T.add(None,1) | T.mul("a",1) | x.to(True) | x.to(2.5)
    """,
    "numbers_and_types_2": """
        x.to({}) | x.to([1]) | x.type("a") | x.type(1) | x.type_as("a") | x.sum(0,keepdim=1) | x.mean(0,keepdim="a")
        | x.sum(keepdim=True) | x.sum(None,True) | x.mean(dim=None,keepdim=True) | x.sum("a") | x.mean([True])
        | x.sum(1.5) | x.sum(()) | x.sum(0,dtype=1) | T.zeros(2,dtype="float32")
    """,
    "numbers_and_types_3": """
        T.ones_like(x,dtype=1) | T.full((2,),1,dtype=3) | x.cumsum(0,dtype=1) | F.softmax(x,0,5)
        | F.softmax(x,0,dtype=1) | F.log_softmax(x,1,3) | T.linspace(0,1,2,dtype="a") | T.arange(2,dtype=1)
        | T.promote_types("a",T.float32)
    """,
    "other_functions_1": """
        T.einsum(None,x) | T.einsum("ij->j","a") | T.einsum("ij->j",[x,"a"]) | T.einsum("ij->j",3)
        | T.einsum("ij,jk->ik",x,None) | T.einsum(["ij"],x) | x.type_as("a") | x.type_as(None) | T.fmod(3,x)
        | T.fmod(2.5,v)
    """,
    "other_functions_2": """
        T.tensordot(x,x,{}) | T.tensordot(x,x,"a") | T.tensordot(x,x,1.5) | T.tensordot(x,x,None)
        | T.nan_to_num(x, None) | T.allclose(x,x,-1) | T.allclose(x,x,float("nan")) | T.isclose(x,x,float("nan"))
        | T.cdist(x,x,-1) | T.cdist(v,x)
    """,
    "other_functions_3": """
        T.isin(b,b) | T.clamp(x,x,1) | "a"**x | T.result_type("a",x)
    """,
    "pictures_3": """
        F.conv2d(c,T.ones(2))
    """,
    "places_and_pieces_2": """
        x.narrow(0,"a",1) | x.narrow(0,None,1) | x.narrow(0,1.5,1)
    """,
    "places_and_pieces_3": """
        x.narrow(0,[1],1) | x.narrow(0,0,"a") | x.narrow(0,True,1) | x.narrow(0,v,1) | x.narrow(0,T.tensor(1.),1)
        | x.repeat_interleave(v) | x.repeat_interleave(T.tensor([1,2,3]),0) | x.repeat_interleave(T.tensor([1,2]),1)
        | x.repeat_interleave(T.tensor([1,2])) | x.repeat_interleave(-1) | x.repeat_interleave("a")
        | x.repeat_interleave(T.tensor([-1,2]),0) | T.repeat_interleave(T.tensor([-1,2])) | T.repeat_interleave(v)
        | T.repeat_interleave(b) | T.repeat_interleave(T.tensor([[1]]))
    """,
    "places_and_pieces_4": """
        x.repeat_interleave(T.tensor([[1,2]]),0) | x.roll(1,None) | x.split(T.tensor(1)) | x.split(z) | x.split(["a"])
        | T.hstack(x) | T.hstack(3)
    """,
    "places_and_pieces_5": """
        T.meshgrid() | T.meshgrid(v,v,indexing="zz")
    """,
    "pooling_1": """
        F.avg_pool2d(c,-1) | F.max_pool2d(c,-1) | F.max_pool2d(c,[1,2,3])
        | F.max_pool2d(c,2,[1,2,3]) | F.max_pool2d(c,2,1,[1,2,3]) | F.max_pool2d(c,2,1,0,[1,2,3])
        | F.avg_pool2d(c,[1,2,3]) | F.avg_pool2d(c,1,[1,2,3]) | F.avg_pool2d(c,1,1,[1,2,3])
    """,
}


def refused(T, table):
    """What each expression of a table gives, or the first line of its error. The tensors are new for each."""
    found = []
    for expression in table.split("|"):
        names = {"T": T, "torch": T, "F": T.nn.functional}
        names |= dict(
            x=T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]), v=T.tensor([1.0, 2.0, 3.0]), z=T.tensor(2.0),
            S=T.tensor([[2.0, 0.5], [0.25, 3.0]]), i=T.tensor([0, 1]), b=T.tensor([True, False]),
            big=T.ones(2, 3, 4, 5), l=T.ones(1, 2, 5), c=T.ones(1, 2, 4, 4), d=T.ones(1, 2, 4, 4, 4),
            k=T.ones(1, 2, 2, 2), w=T.ones(2, 2, 3, 3),
        )  # fmt: skip
        names["m"] = names["x"] > 2
        given = []
        error = raises(lambda: given.append(eval(expression.strip(), names)))  # noqa: B023, S307
        found.append([expression.strip(), given if error is None else [*error[:2], error[2].splitlines()[:1]]])
    return found


@program
def normalising_with_mixed_types(T):
    """Data in double precision and a layer in single: no result, as only half precision may be mixed."""
    F, kinds = T.nn.functional, {"f": T.float32, "d": T.float64, "l": T.int64}

    def vector(kind):
        return None if kind == "n" else T.ones(3, dtype=kinds[kind])

    found = []
    for data, weight, bias in itertools.product("fd", "fdln", "fdln"):
        x, w, b = T.arange(6.0).reshape(2, 3).to(kinds[data]), vector(weight), vector(bias)
        found += [raises(lambda: F.layer_norm(x, (3,), w, b))]  # noqa: B023
        for mean, var, training in itertools.product("fdl", "fdl", (True, False)):
            stats = vector(mean), vector(var)
            found.append(raises(lambda: F.batch_norm(x, *stats, w, b, training)))  # noqa: B023
        found.append(raises(lambda: F.batch_norm(x, None, None, w, b, True)))  # noqa: B023
    return found


@program
def modules_with_wrong_arguments(T):
    nn, x = T.nn, T.ones(2, 3)
    return [
        raises(lambda: nn.BatchNorm1d(3)(x.double())),
        raises(lambda: nn.Sequential({"a": nn.Linear(3, 2)})),
    ]


programs(**{name: lambda T, table=table: refused(T, table) for name, table in TABLES.items()})
