"""What a learner sees in a notebook: lessons, cards, cells, the home page, progress."""
