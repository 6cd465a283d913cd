"""The examples run, and print what they say."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import unipac

EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(name, monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_frozen_lake(monkeypatch, capsys):
    lines = printed("frozen_lake.py", monkeypatch, capsys, "--episodes", "600")
    assert lines[0].endswith("best value 0.7442")
    rows = [[float(number) for number in line.replace(",", "").split()] for line in lines[3:]]
    assert [row[0] for row in rows] == [250, 500, 600]
    for _, certified, recommended, plain, eager, certificate in rows:
        assert 0.7442 - certified <= certificate <= 1.0  # the certificate holds
        assert max(certified, recommended, plain, eager) <= 0.7443


def test_continuous(monkeypatch, capsys):
    lines = printed("continuous.py", monkeypatch, capsys, "--episodes", "300")
    assert lines[0].endswith("optimal value 0.6265 from 0.3")
    rows = [[float(number) for number in line.replace(",", "").split()] for line in lines[2:-1]]
    assert [row[0] for row in rows] == [100, 200, 300]
    for _, _, value, gap, certificate in rows:
        assert value <= 0.6266
        assert gap <= certificate <= 4.0
    assert re.fullmatch(r"from 0.9123: action [012], certificate [\d.]+", lines[-1])


def test_model_router(monkeypatch, capsys):
    lines = printed("model_router.py", monkeypatch, capsys, "--requests", "1600")
    rows = [re.match(r" *([\d,]+) +([\d.]+) +([\d.]+) +tiny", line) for line in lines[1:4]]
    lost, certificates = ([float(row[k]) for row in rows] for k in (2, 3))
    assert lost[2] < lost[0] < 0.3
    assert 1.5 >= certificates[0] > certificates[2] > lost[2]
    assert lines[4] == "every request lost at most its certificate: True; drift alarm: False"
    assert lines[5].endswith("(in truth code)")


def fetch(name):
    try:
        unipac.data.content(name)
    except FileNotFoundError:
        try:
            unipac.data.get(name)
        except OSError as error:
            pytest.skip(str(error))


def test_trial(monkeypatch, capsys):
    fetch("actg175")
    text = "\n".join(printed("trial.py", monkeypatch, capsys, "--every", "400"))
    assert re.search(r"zidovudine for all +0\.444 +0\.328 to 0\.559", text), text
    assert text.count("the first is better") == 2, text
    assert "not settled by 2,139 patients" in text


def test_clicks(monkeypatch, capsys):
    fetch("open-bandit")
    lines = printed("clicks.py", monkeypatch, capsys)
    assert lines[0].endswith("46 clicks")
    rows = [re.match(r" *([\d,]+) +0\.\d{4} +([\d.]+) to ([\d.]+)$", line) for line in lines[3:8]]
    assert [row[1] for row in rows] == ["2,000", "4,000", "6,000", "8,000", "10,000"]
    widths = [float(row[3]) - float(row[2]) for row in rows]
    assert widths == sorted(widths, reverse=True)
    assert lines[9] == f"by weights: {rows[-1][2]} to {rows[-1][3]}, worth 2,480 rounds"
    model = re.match(r"by a model: ([\d.]+) to ([\d.]+)$", lines[10])
    assert float(model[2]) - float(model[1]) > 3 * widths[-1]
    assert re.match(r"more clicks than uniform choices: -0\.00\d\d to \+0\.01\d\d$", lines[11])


def test_icu_sepsis(monkeypatch, capsys):
    fetch("icu-sepsis")
    lines = printed("icu_sepsis.py", monkeypatch, capsys, "--episodes", "5")
    text = "\n".join(lines)
    for name, value in (("the best policy", 0.7922), ("clinicians", 0.6920), ("random treatment", 0.6854)):
        assert re.search(rf"{name} +{value:.4f}", text), text
    for which in ("as it plays", "recommended"):
        assert re.search(rf"CertVI, {which} +0\.\d{{4}} +(1\.0000|0\.\d{{4}})\n", text), text
    assert re.search(r"QLearning +0\.\d{4} +none", text), text


@pytest.mark.parametrize(
    ("example", "name"),
    [("icu_sepsis.py", "icu-sepsis"), ("trial.py", "actg175"), ("clicks.py", "open-bandit")],
)
def test_examples_say_what_is_missing(monkeypatch, capsys, tmp_path, example, name):
    monkeypatch.setenv("UNIPAC_DATA", str(tmp_path))
    monkeypatch.setattr("unipac.data.files._installed", lambda file: None)
    with pytest.raises(SystemExit, match=f"unipac data get {name}"):
        printed(example, monkeypatch, capsys)
