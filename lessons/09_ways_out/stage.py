"""The measurements of lesson 09 behind the scenes: the table of the exits, filled in row by row."""


def exits(torch):
    """Each exit as a function of a tensor, in the order of the lesson."""
    return {
        "detach": lambda x: x.detach(),
        ".data": lambda x: x.data,
        "numpy": lambda x: torch.from_numpy(x.detach().numpy()),
        "clone": lambda x: x.clone(),
        "item": lambda x: torch.tensor([x.item()]),
        "no_grad": torch.no_grad()(lambda x: x * 1),  # all of the function runs under no_grad
        "no_grad, view": torch.no_grad()(lambda x: x[:1]),
        "inference_mode": torch.inference_mode()(lambda x: x * 1),
    }


def one_of_them(film, program):
    """The film of the program whose outcome is silently wrong."""
    return film(program, ".data")


def table(torch, seen=None, graph=None):
    """Measure the exits seen so far (None: all), and leave the other rows open; with `graph`, that column as well."""
    print(f"{'':15} memory  counter  x * it  after a write")
    for name, leave in exits(torch).items():
        row = measured(torch, leave) if seen is None or name in seen else "????"
        print(f"{name:15} {row[0]:7} {row[1]:8} {'?' if graph else row[2]:7} {row[3]}")


def measured(torch, leave):
    """The four entries of a row, as text."""
    x = torch.tensor([3.0], requires_grad=True)
    y, out = (x * x).sum(), leave(x)
    memory = "shared" if out.data_ptr() == x.data_ptr() else "own"
    product = slope(x, lambda: x * out)
    x.grad = None
    with torch.inference_mode():  # the only place where an inference tensor may be written to
        out.fill_(30.0)
    counter = "none" if out.is_inference() else "shared" if x._version else "own"
    return memory, counter, product, slope(x, lambda: y)


def slope(x, compute):
    """The gradient that backward leaves in x, or "error"."""
    try:
        compute().sum().backward()
    except RuntimeError:
        return "error"
    return f"{x.grad.item():g}"
