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


def test_model_router(monkeypatch, capsys):
    lines = printed("model_router.py", monkeypatch, capsys, "--requests", "1600")
    rows = [re.match(r" *([\d,]+) +([\d.]+) +([\d.]+) +tiny", line) for line in lines[1:4]]
    lost, certificates = ([float(row[k]) for row in rows] for k in (2, 3))
    assert lost[2] < lost[0] < 0.3
    assert 1.5 >= certificates[0] > certificates[2] > lost[2]
    assert lines[4] == "every request lost at most its certificate: True; drift alarm: False"
    assert lines[5].endswith("(in truth code)")


def test_icu_sepsis(monkeypatch, capsys):
    try:
        unipac.data.read("icu-sepsis")
    except FileNotFoundError:
        try:
            unipac.data.get("icu-sepsis")
        except OSError as error:
            pytest.skip(str(error))
    lines = printed("icu_sepsis.py", monkeypatch, capsys, "--episodes", "5")
    text = "\n".join(lines)
    for name, value in (("the best policy", 0.7922), ("clinicians", 0.6920), ("random treatment", 0.6854)):
        assert re.search(rf"{name} +{value:.4f}", text), text
    assert re.search(r"CertVI +0\.\d{4} +(1\.0000|0\.\d{4})\n", text), text
    assert re.search(r"QLearning +0\.\d{4} +none", text), text


def test_icu_sepsis_says_what_is_missing(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("UNIPAC_DATA", str(tmp_path))
    monkeypatch.setattr("unipac.data.files._installed", lambda file: None)
    with pytest.raises(SystemExit, match="unipac data get icu-sepsis"):
        printed("icu_sepsis.py", monkeypatch, capsys)
