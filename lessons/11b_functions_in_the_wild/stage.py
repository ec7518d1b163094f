"""The posted Function with which part 11b begins, and how much it keeps."""


def pooling(torch):
    """The Function of the section on pooling, as a class of this library."""

    class Pooled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, img, spx):
            regions = spx.max() + 1
            member = (spx.reshape(-1, 1) == torch.arange(regions.item())).to(img.dtype)
            pool_size = member.sum(0)
            ctx.save_for_backward(pool_size, img, spx, regions)
            return img.reshape(*img.shape[:2], -1) @ member / pool_size

        @staticmethod
        def backward(ctx, grad):
            pool_size, img, spx, regions = ctx.saved_tensors
            return (grad / pool_size)[..., spx], torch.zeros_like(spx)

    return Pooled


def pooled(torch):
    """Ask gradcheck about the posted Function, and count the numbers that it keeps for an image of 3 × 8 × 8."""
    function, regions = pooling(torch), torch.arange(64).reshape(8, 8) // 16
    image = torch.rand(1, 3, 8, 8, dtype=torch.float64, requires_grad=True)
    print("gradcheck:", torch.autograd.gradcheck(lambda image: function.apply(image, regions), (image,)))
    kept = sum(slot.numel() for slot in function.apply(image, regions).grad_fn.saved_tensors)
    print(f"numbers that are kept for an image of {image.numel()} numbers: {kept}")
