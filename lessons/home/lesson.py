# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Autograd, seen from the inside
#
# This is the home page of the course. It shows what comes next, all lessons, and how far you are. A click on a name opens the lesson. To bring the table up to date, run its cell (click into it, then press **Shift+Enter**).

# %%
from coursekit import home

home()

# %% [markdown]
# ## Three ways through the course
#
# **I have the error now** (about 40 minutes). Something "has been modified by an inplace operation", or you are "trying to backward through the graph a second time". Read the first cells of [07 Version counters](07_version_counters.ipynb): how to read the pictures, the program of the story, and the message as a table. For the second error it is [06 Saved tensors](06_saved_tensors.ipynb). In a program of your own, `explain(error)` says what happened and what cures it.
#
# **The four subjects** (a weekend). What people most often get wrong is in four lessons: [05 Leaf accumulation](05_leaf_accumulation.ipynb), [06 Saved tensors](06_saved_tensors.ipynb), [07 Version counters](07_version_counters.ipynb) and [09 Ways out](09_ways_out.ipynb). Read [00 Start here](00_start_here.ipynb) before them; it explains the pictures.
#
# **Everything**, from [00 Start here](00_start_here.ipynb) on. Each lesson is a sitting of one to two hours. You predict, run, look, and solve; and most lessons add a few lines to an engine of your own, which trains a network in [lesson 10](10_training_loop.ipynb).
#
# ## What is where
#
# - Your copies of the lessons are in the folder `my_course`. Write in them as you like. `make reset L=07` in a terminal gives you a fresh copy and keeps yours beside it.
# - Your own engine is `my_engine.py` in the same folder.
# - [The gallery](90_gallery.ipynb) shows every instrument: `draw`, `film`, `compare`, `step`, `watch`, `ledger`, `gradients` and `explain`. All of them work on tensors of real PyTorch too.
# - In any lesson, `L.progress()` lists what you have solved there. If the kernel was restarted, run the first code cell again: it makes `L`.
