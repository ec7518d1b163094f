"""The notebook's front end: lessons, cards, cells, the home page, progress."""
