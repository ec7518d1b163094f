"""The digits that lesson 10 trains on: what they are, and that their source and licence are shipped with them."""


from coursekit import digits
from coursekit.data.digits import FILE


def test_they_are_what_the_text_says(torch):
    """1,797 images of 8 x 8 greys from 0 to 1 as float32, labels from 0 to 9 as int64, of each digit some 180."""
    images, labels = digits(torch)

    assert (tuple(images.shape), images.dtype) == ((1797, 8, 8), torch.float32)
    assert (tuple(labels.shape), labels.dtype) == ((1797,), torch.int64)
    assert (images.min().item(), images.max().item()) == (0.0, 1.0)
    assert sorted({round(value * 16, 6) for value in images.reshape(-1).tolist()}) == list(range(17))
    assert labels[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    assert all(170 < labels.tolist().count(digit) < 190 for digit in range(10))


def test_each_call_gives_new_tensors(torch):
    """Writing into the images of one call does not change those of the next."""
    images, labels = digits(torch)
    images.zero_(), labels.zero_()
    again, its = digits(torch)

    assert again.sum().item() > 0 and its.sum().item() > 0


def test_source_licence_and_citation_stand_beside_them():
    """The text names the makers, the source, the licence and what was changed; the file is small."""
    text = FILE.with_suffix(".txt").read_text(encoding="utf-8")

    assert all(word in text for word in ("Alpaydin", "Kaynak", "UCI", "CC BY 4.0", "10.24432/C50P49", "Changed"))
    assert FILE.stat().st_size < 60_000
