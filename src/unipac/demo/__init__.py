"""The demo: five runs that show certificates beside the truth, and one page that says what came out.

Each part has two functions: `play` returns plain numbers, and `tell` makes words, findings and charts from these
numbers alone. So every conclusion on the page follows from what is in ``numbers.json`` beside it.

    unipac demo                 runs all parts, writes results/demo/index.html

`unipac.demo.routing` is the problem of the picture in the README, too.
"""
