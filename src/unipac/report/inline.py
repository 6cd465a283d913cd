"""What a page needs to draw charts without asking any other host: the library, the charts, and a policy."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import Any

import jinja2
from markupsafe import Markup, escape

from unipac.report.style import CONFIG

MARK = b'<meta name="generator" content="unipac">'


def rendered(template: str, specs: list[dict[str, Any]], **words: Any) -> str:
    """A page from a template of the package; rendering it may add to the list of charts.

    Args:
        template: such as "report/page.html.j2".
        specs: what `spec_of` returned, for each chart in its order; a place with ``data-chart="k"`` gets the k-th.
        words: what else the template knows.
    """
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(lambda name: files("unipac").joinpath(name).read_text("utf-8")),
    )
    environment.filters["maths"] = lambda text: escape(text).replace("N_ε", Markup("N<sub>ε</sub>"))
    return environment.get_template(template).render(
        **words,
        library=Markup(library()),
        config=as_script(CONFIG),
        policy=policy,
        specs=lambda: as_script(specs),  # a function, because rendering the page may fill the list
    )


def spec_of(chart: Any) -> dict[str, Any]:
    """An Altair chart as a Vega-Lite specification, without the parts that the page states once for all charts."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    for shared in ("$schema", "config"):
        spec.pop(shared, None)
    tables: dict[str, Any] = spec.setdefault("datasets", {})
    for holder in (spec, *spec.get("layer", ())):
        data = holder.get("data", {})
        if "format" in data:
            kinds = data.pop("format")["parse"]
            name = data.setdefault("name", f"data-{len(tables)}")
            text = data.pop("values", tables.get(name))
            tables[name] = _table(text, kinds) if isinstance(text, str) else text
    return spec


def _table(text: str, kinds: Mapping[str, str]) -> dict[str, list[Any]]:
    """A CSV as names and rows, from which the page makes records; Vega would compile code to read the CSV."""
    names, *rows = csv.reader(StringIO(text))
    return {
        "names": names,
        "rows": [[_cell(kinds[n], c) for n, c in zip(names, row, strict=True)] for row in rows],
    }


def _cell(kind: str, text: str) -> str | float | None:
    if kind == "string":
        return text
    number = float(text or "nan")
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def as_script(data: object) -> Markup:
    """Data as JSON that cannot close the script element around it."""
    return Markup(json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"))


def policy(scripts: Sequence[str]) -> Markup:
    """What the page may do: run these scripts and no others, style itself, and load nothing from anywhere.

    Vega writes the styles of a chart when it draws it, so the policy cannot list them. Its expressions are interpreted
    (``ast``), not compiled, so that the page needs no ``unsafe-eval``.
    """
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    rules = f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'"
    return Markup(f"{rules}; base-uri 'none'; form-action 'none'")


@cache
def library() -> str:
    """Vega, Vega-Lite and vega-embed as one script; the version of Vega-Lite is the one that Altair writes."""
    import altair as alt
    import vl_convert

    version = ".".join(alt.VEGALITE_VERSION.split(".")[:2])
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    return script.replace("</script", "<\\/script")
