"""The demo: five runs that show certificates beside the truth, and one page that says what came out.

A part plays (`play` returns plain numbers) and tells (`tell` makes words, findings and charts of such numbers, and of
nothing else), so that every conclusion on the page follows from what is in ``numbers.json`` beside it.

    unipac demo                 runs all parts, writes results/demo/index.html

`unipac.demo.routing` is the problem of the picture in the README, too.
"""
