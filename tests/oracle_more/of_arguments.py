"""Arguments in every way they may be given: by place, by name, by NumPy's names, as several numbers or as one list.

Each program stands for a table of expressions in `x`, a leaf of two rows and three columns.
"""

from kit import graph, leaf, programs, raises

TABLES = {
    "sums_and_means_1": """
        x.sum(axis=0) | x.sum(axis=1,keepdims=True) | T.sum(x,axis=0) | x.mean(axis=0) | x.mean(axis=(0,1))
        | x.mean(1,True) | x.mean([0,1]) | x.sum([0,1],keepdim=True) | x.sum(-1) | x.sum(()) | x.sum(dim=())
        | x.prod(axis=0) | x.logsumexp(axis=0)
    """,
    "sums_and_means_2": """
        x.logsumexp(dim=(0,1)) | x.logsumexp(1,True) | x.cumsum(axis=0) | x.cumprod(1) | T.mean(x)
        | T.mean(input=x,dim=0) | T.sum(input=x) | T.prod(x) | T.prod(x,1,keepdim=True) | T.logsumexp(x,1)
        | T.logsumexp(input=x,dim=0,keepdim=True) | T.cumsum(x,dim=1)
    """,
    "extremes_1": """
        x.max(axis=0).values | x.min(axis=1)[1] | x.max(axis=0,keepdims=True)[0] | x.amax(axis=0)
        | x.amin(axis=(0,1)) | x.amax() | x.argmax(axis=0) | x.argmax(axis=0,keepdims=True) | x.argmin()
        | x.softmax(axis=1) | x.softmax(-1) | T.softmax(x,dim=1,dtype=T.float64) | T.softmax(input=x,dim=0)
        | x.log_softmax(dim=-1)
    """,
    "extremes_2": """
        x.clamp(1.5,4) | x.clamp(min=2) | x.clamp(max=2) | x.clamp(min=None,max=3.) | T.clamp(input=x,max=3)
        | x.clip(2,3) | x.sort(descending=True)[0] | x.sort(0)[1] | x.sort(dim=1,descending=True).indices
        | T.sort(x,stable=True)[0] | x.argsort(1) | x.topk(2)[0] | x.topk(k=2,dim=0,largest=False).values
        | x.topk(1,1,True,True)[1]
    """,
    "extremes_3": """
        T.maximum(x,x*2) | T.max(x) | T.max(x,1).indices | T.max(input=x,dim=1,keepdim=True)[0] | T.min(x,dim=0)[0]
        | T.argmax(x,1) | T.argmax(x,dim=0,keepdim=True) | T.amax(x,(0,1)) | T.amin(x,dim=1,keepdim=True)
        | T.median(x) | T.median(x,1) | x.median(0)[0]
    """,
    "spreads_and_norms_1": """
        x.std(axis=0) | x.var(axis=0) | x.var(0,False) | x.var(0,unbiased=False,keepdim=True)
        | x.var(dim=0,correction=0) | x.var(False) | x.std(correction=2) | x.std(0,True,True) | (x>2).all(axis=0)
        | (x>2).any(axis=1,keepdims=True) | x.norm(p=1) | x.norm(2,0)
    """,
    "spreads_and_norms_2": """
        x.norm(2,dim=1,keepdim=True) | x.norm('fro') | x.norm(p='fro',dim=1) | x.norm(float('inf')) | x.norm(dim=0)
        | T.var(x,dim=1) | T.std(x,0) | T.norm(x) | T.norm(x,p=1,dim=1) | T.all(x>0) | T.any(x>5,dim=1)
        | T.allclose(x,x,rtol=1e-3)
    """,
    "joining_and_cutting_1": """
        T.cat((x,x),axis=1) | T.cat([x,x],-1) | T.cat(tensors=[x,x],dim=0) | T.stack((x,x),axis=1)
        | T.stack([x,x],-1) | T.stack(tensors=(x,x)) | T.unbind(x,axis=1)[0] | x.unbind(-1)[2] | x.split([1,2],-1)[1]
        | x.split(split_size=2,dim=1)[1] | T.split(x,2,dim=1)[0] | T.chunk(x,chunks=2,dim=1)[0] | x.chunk(2,-1)[1]
        | x.narrow(1,0,2)
    """,
    "joining_and_cutting_2": """
        x.narrow(dim=0,start=1,length=1) | x.narrow(1,T.tensor(1),2) | x.select(1,-1) | x.select(dim=0,index=1)
        | x.diagonal(offset=1) | x.diagonal(0,1,0) | x.diagonal(dim1=-2,dim2=-1) | x.triu(1) | x.tril(diagonal=-1)
        | T.triu(x,diagonal=1) | x.masked_select(x>2) | x.index_select(0,T.tensor([1,1]))
        | x.index_select(dim=1,index=T.tensor([0])) | x.stride()
    """,
    "joining_and_cutting_3": """
        x.stride(0) | x.stride(dim=1)
    """,
    "shapes_1": """
        T.squeeze(x.unsqueeze(0),axis=0) | x.unsqueeze(axis=0) | x.unsqueeze(-1) | x.unsqueeze(dim=1).squeeze(dim=1)
        | x.unsqueeze(1).squeeze((1,)) | x.flip(0) | x.flip(dims=(0,1)) | x.flip([1]) | x.transpose(dim0=0,dim1=1)
        | x.transpose(-1,-2) | x.permute(dims=(1,0)) | x.permute([1,0]) | T.permute(x,(1,0))
        | x.flatten(start_dim=0,end_dim=1) | x.flatten(0)
    """,
    "shapes_2": """
        T.flatten(x,1) | x.view(size=(6,)) | x.view([3,2]) | x.view(T.Size([6])) | x.view(-1,2)
        | x.reshape(shape=(6,)) | x.reshape([2,-1]) | T.reshape(x,(3,2)) | T.reshape(x,[-1]) | x.expand(size=(2,2,3))
        | x.expand([2,2,3]) | x.expand(-1,-1) | x.repeat(2,1) | x.repeat((2,1)) | x.repeat(repeats=(1,2))
    """,
    "shapes_3": """
        x.view_as(T.ones(6)) | x.view_as(other=T.ones(3,2)) | x.expand_as(T.ones(2,2,3)) | x.matmul(x.t())
        | x.mm(x.t()) | x.mm(mat2=x.t()) | T.mm(x,x.t()) | T.bmm(x[None],x.t()[None])
        | T.ones(2,2).addmm(x,x.t(),beta=0.5,alpha=2) | T.matmul(input=x,other=x.t()) | x.t() | x.T
        | T.transpose(x,0,1) | T.t(x) | T.squeeze(x[None])
    """,
    "shapes_4": """
        T.unsqueeze(x,0) | T.unsqueeze(input=x,dim=1) | T.movedim(x,0,1) | T.swapaxes(x,0,1) | x.ravel()
        | x.swapaxes(0,1)
    """,
    "arithmetic_1": """
        x.add(1,alpha=2) | x.add(x,alpha=0.5) | x.add(other=x) | x.sub(1) | x.sub(x,alpha=2) | T.sub(x,1,alpha=3)
        | T.mul(x,2) | T.mul(input=x,other=x) | x.mul(other=3) | x.div(2,rounding_mode='floor')
        | x.div(x,rounding_mode='trunc') | T.div(x,2.) | x.div(other=4.) | x.pow(2)
    """,
    "arithmetic_2": """
        x.pow(exponent=3) | T.pow(x,0.5) | T.pow(2,x) | T.pow(x,x) | T.pow(input=x,exponent=2) | x.remainder(2)
        | T.fmod(x, 2) | x.neg() | x.reciprocal() | x.square() | x.sign() | x.sqrt() | x.rsqrt() | x.isnan()
    """,
    "arithmetic_3": """
        T.isnan(x) | T.atan2(x,x) | x.hypot(x) | T.log10(x) | T.logaddexp(x,x) | T.nan_to_num(x) | T.fmod(x,2)
    """,
    "types_1": """
        x.float() | x.double() | x.to(T.float64) | x.to(dtype=T.float64) | x.to('cpu') | x.to('cpu',T.float64)
        | x.to(device='cpu') | x.to(x) | x.to(T.device('cpu'),dtype=T.float64,copy=True) | x.to(T.float32,copy=True)
        | x.to(T.float32,False,True)
    """,
    "types_2": """
        x.type(T.float64) | x.type('torch.DoubleTensor') | x.long() | x.bool() | x.cpu() | x.contiguous() | x.detach()
        | T.get_default_dtype()
    """,
    "new_tensors_1": """
        x.to(T.ones(1,dtype=T.float64)) | x.where(x>2,T.zeros(1)) | T.where(x>2,x,T.tensor(0))
        | T.where(x>2,x,T.zeros(2,3,dtype=T.float64)) | x.masked_fill(x>2,T.tensor(9.))
        | x.gather(1,T.tensor([[0],[2]])) | x.gather(dim=1,index=T.tensor([[0],[2]])) | x.new_zeros(2)
        | x.new_zeros((2,2),dtype=T.int64) | x.new_zeros(size=(2,)) | x.new_ones(2,requires_grad=True)
        | x.new_full((2,),3.) | x.new_empty((2,)).shape | x.new_tensor([1,2]) | T.zeros(2,3)
    """,
    "new_tensors_2": """
        T.zeros((2,3)) | T.zeros([2,3],dtype=T.float64) | T.zeros(size=(2,)) | T.zeros(()) | T.zeros(0)
        | T.zeros(2,requires_grad=True) | T.zeros(2,device='cpu') | T.zeros(T.Size([2])) | T.zeros(x.shape)
        | T.ones(*x.shape) | T.full((2,),7) | T.full((2,),7.5) | T.full(size=(2,),fill_value=True)
        | T.full((2,),2,dtype=T.float32) | T.arange(5)
    """,
    "new_tensors_3": """
        T.arange(1,5) | T.arange(1,5,2) | T.arange(0.,1.,0.25) | T.arange(start=1,end=4) | T.arange(end=4)
        | T.arange(5,dtype=T.float32) | T.arange(5.) | T.arange(3,0,-1) | T.arange(1,4,requires_grad=False)
        | T.arange(4.,requires_grad=True) | T.linspace(0,1,5) | T.linspace(0,1,steps=3) | T.eye(2) | T.eye(2,3)
        | T.eye(n=2)
    """,
    "new_tensors_4": """
        T.zeros_like(x) | T.zeros_like(x,dtype=T.int64) | T.ones_like(x,requires_grad=True) | T.ones_like(input=x)
        | T.full_like(x,2) | T.full_like(x,fill_value=2.5) | T.empty_like(x).shape | T.empty(2,3).shape
        | T.tensor(data=[1.,2.]) | T.tensor([1,2],dtype=T.float64,requires_grad=True) | T.tensor([[1,2],[3,4]])
        | T.tensor([]) | T.tensor(()) | T.tensor([[]]) | T.tensor([True,2])
    """,
    "new_tensors_5": """
        T.tensor([1,2.]) | T.tensor([1,True]) | T.tensor((1,(2))) | T.tensor(range(3)) | T.as_tensor([1,2])
        | T.scatter_add(T.zeros(2,3),1,T.tensor([[0,0,0]]),x[:1]) | T.isin(T.tensor([1,2]),T.tensor([2]))
        | T.take_along_dim(x,T.tensor([[0],[1]]),dim=1) | x.scatter(1,T.tensor([[0],[1]]),9.)
        | x.scatter(1,T.tensor([[0],[1]]),T.zeros(2,1))
    """,
    "places": """
        x.where(x>2,0.) | T.where(x>2,x,0.) | T.where(x>2,0.,x) | T.where(x>2,1.,0.) | T.where(x>2,1,0)
        | T.where(condition=x>2,input=x,other=x*2) | x.masked_fill(x>2,0) | x.masked_fill(mask=x>2,value=1.)
        | T.nonzero(x>4) | T.nonzero(x>4,as_tuple=True)
    """,
    "products": """
        x.mv(T.ones(3)) | x.mv(vec=T.ones(3)) | x[0].dot(x[1]) | x[0].inner(x[1]) | x.inner(x) | x[0].outer(x[1])
        | T.outer(x[0],x[1]) | T.outer(input=x[0],vec2=x[1]) | T.mv(x,T.ones(3)) | T.dot(x[0],x[1])
        | T.tensordot(x,x,2) | T.tensordot(x,x,dims=([1],[1]))
    """,
    "facts_1": """
        x.eq(2) | x.gt(other=2) | x.ge(x) | x.ne(1) | x.eq(other=x) | T.eq(x,2.) | T.gt(x,x) | x.equal(x)
        | x.allclose(x+1e-9) | x.numel() | x.dim() | x.size() | x.size(0) | x.size(-1) | x.size(dim=1)
    """,
    "facts_2": """
        x.shape[0] | x.ndim | T.numel(x) | T.equal(x,x) | T.is_tensor(x) | T.is_grad_enabled() | T.linalg.inv(x[:,:2])
        | x.ndimension()
    """,
}


def values(T, table):
    """What each expression gives, and the nodes behind it."""
    found = {}
    for expression in map(str.strip, table.split("|")):
        results = []
        x = leaf(T, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        error = raises(lambda: results.append(eval(expression, {"T": T, "x": x})))
        found[expression] = [error, results, [graph(getattr(r, "grad_fn", None), 2) for r in results]]
    return found


programs(**{name: lambda T, table=table: values(T, table) for name, table in TABLES.items()})
