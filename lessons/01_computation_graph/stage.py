"""The pictures of lesson 01's hidden programs."""

from coursekit.judge.discovery import exercises_module

pictures = exercises_module(1).pictures
