"""Reports on experiments: figures, findings, one page that works offline, pictures."""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "experiments.options": "Options",
        "report": "figures predictions",
        "report.content": "findings Section",
        "report.folders": "section sections",
        "report.tables": "summary",
        "report.writing": "build",
    },
)
