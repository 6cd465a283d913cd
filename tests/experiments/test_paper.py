"""The experiments of the paper run, and each of their predictions can be seen and can fail to be."""

from dataclasses import replace

import polars as pl
import pytest

from unipac.experiments import EXPERIMENTS, run
from unipac.experiments.results import load

PAPER = {experiment.name: experiment for experiment in EXPERIMENTS["paper"]}
SMALL = {
    "e01-appendix-a": {"seeds": 3},
    "e02-killer": {},
    "e06-coverage": {"seeds": 6, "rounds": 50},
    "e07-certificates": {"seeds": 6, "rounds": 300},
    "e11-finite-arms": {"seeds": 1, "rounds": 300},
    "e13-lsvi-killer": {},
    "e12-mdps": {"seeds": 2, "rounds": 200},
    "e14-mixtures": {"seeds": 1, "rounds": 40},
    "e15-compute": {"seeds": 1, "rounds": 40},
    "e16-misspecification": {"seeds": 2, "rounds": 200},
    "e18-any-states": {"seeds": 1, "rounds": 300},
}


def small_spec(experiment):
    spec = experiment.spec().with_changes(**SMALL.get(experiment.name, {"seeds": 2, "rounds": 500}))
    few = [i for i in spec.instances if i.instance != "lsvi_killer" or i.parameters["forced"] <= 10**4]
    return replace(spec, instances=tuple(few))


@pytest.fixture(scope="module", params=PAPER)
def played(request, tmp_path_factory):
    """A small run of each experiment."""
    experiment = PAPER[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    assert run([(small_spec(experiment), folder)]).failures == []
    return experiment, load(folder)


def rank(labels):
    return pl.col("agent").cast(labels).to_physical().cast(pl.Int64)


def dimension():
    return pl.col("instance").cast(pl.String).str.extract(r"dim=(\d+)").cast(pl.Int64).fill_null(1)


def parameter_of_sweep(name):
    return pl.col("instance").cast(pl.String).str.extract(rf"{name}=([\d.]+)").cast(pl.Float64).fill_null(1.0)


def doctored(results):
    """The same results with other numbers: worlds that are as predicted in one respect or another, or not."""

    def curves(**columns):
        return results._replace(curves=results.curves.with_columns(**columns))

    def mistakes(count):
        return results._replace(
            mistakes=results.mistakes.with_columns(mistakes=count, certificates_above=count)
        )

    yield results
    agent = rank(results.curves.schema["agent"])
    grown = (4 * (pl.col("round") + 1).log()).round().cast(pl.Int64)
    for count in (
        pl.lit(5),
        pl.lit(10**15),
        grown,
        (grown / 30).round().cast(pl.Int64),
        grown * (1 + 3 * agent),
    ):
        yield mistakes(count.cast(pl.Int64))
    yield mistakes(1000 * (20 - agent))
    yield mistakes(grown * agent)
    for exponent in (0.2, 1.5, 2.0, 4.0):
        yield mistakes((100 * pl.col("eps") ** -exponent).round().cast(pl.Int64))
        yield mistakes((100 * dimension() ** exponent).round().cast(pl.Int64))
        yield curves(regret=dimension() ** exponent * 1.0)
        yield curves(regret=parameter_of_sweep("horizon") ** exponent * 1.0)
    for exponent in (0.2, 1.0, 2.0):
        yield curves(regret=pl.col("round").cast(pl.Float64) ** exponent)
        yield curves(certified_regret=pl.col("round").cast(pl.Float64) ** exponent)
    for base in (20.0, 1.0, 0.05):
        yield curves(regret=pl.lit(base) ** agent * (1 + pl.col("round").cast(pl.Float64)).log())
    for number in (0, 1, 100):
        yield curves(levels=pl.lit(number), uncovered=pl.lit(number), violations=pl.lit(number))
    half = pl.col("agent").cast(pl.String).str.starts_with("half")
    yield curves(uncovered=half.cast(pl.Int64))
    yield curves(plans=pl.lit(10**9))
    name, zeta, angle = (
        pl.col("agent").cast(pl.String),
        parameter_of_sweep("zeta"),
        parameter_of_sweep("angle"),
    )
    steady = pl.col("round").cast(pl.Float64)
    for power, factor in ((1.5, 1.0), (4.0, 1.0), (1.0, 1000.0)):
        yield curves(regret=factor * zeta**power * steady)
    yield curves(regret=zeta * pl.lit(0.05) ** agent * steady)
    yield curves(regret=pl.when(name.str.contains("paper")).then(100.0).otherwise(1.0))
    yield curves(regret=pl.when(zeta > 0).then(steady).otherwise(steady**0.2))
    searching = pl.col("kind").cast(pl.String) == "search"
    for pulls in (pl.lit(10**6), pl.when(name == "ALBA").then(10**15).otherwise(10.0 * 3.0**agent)):
        yield curves(round=pl.when(searching).then(pulls.cast(pl.Int64)).otherwise(pl.col("round")))
    yield mistakes(pl.when(name == "PhasedElimination").then(5).otherwise(pl.col("round")).cast(pl.Int64))
    steep = mistakes((100 * angle**-4).round().cast(pl.Int64))
    yield steep._replace(
        curves=steep.curves.with_columns(
            round=pl.when(searching).then((100 / angle**2).cast(pl.Int64)).otherwise("round")
        )
    )
    for share in (0.001, 0.2, 0.5, 2.0):
        size = (share * pl.col("bound")).cast(pl.Int64, strict=False)
        yield results._replace(levels=results.levels.with_columns(size=size))
    for exponent in (1.0, 2.0, 3.0):
        seconds = pl.col("round").cast(pl.Float64) ** exponent
        yield results._replace(times=results.times.with_columns(seconds=seconds))


def test_every_prediction_can_be_seen_and_can_fail(played):
    experiment, results = played
    findings = experiment.predict(results)
    answers = [set() for _ in findings]
    for world in doctored(results):
        for known, finding in zip(answers, experiment.predict(world), strict=True):
            known.add(finding.seen)
        if all({True, False} <= known for known in answers):
            break
    assert findings
    for known, finding in zip(answers, findings, strict=True):
        assert {True, False} <= known, f"{experiment.name}: {finding.prediction} is always {known}"


def test_predictions_are_sentences_with_numbers(played):
    experiment, results = played
    for finding in experiment.predict(results):
        assert finding.prediction.endswith(".")
        assert finding.observation.endswith(".")
        assert any(character.isdigit() for character in finding.observation)
        assert finding.verdict in str(finding).replace("Seen", "seen").replace("Not", "not")


EACH = {experiment.name: experiment for group in EXPERIMENTS.values() for experiment in group}


@pytest.mark.parametrize("experiment", EACH.values(), ids=EACH)
def test_full_runs_have_twenty_seeds_where_chance_plays_a_part(experiment):
    small, full = experiment.spec(), experiment.spec(full=True)
    assert small.seeds <= full.seeds
    timed = experiment.name == "e15-compute"
    assert full.seeds >= 20 or full.seeds == 1 or timed
