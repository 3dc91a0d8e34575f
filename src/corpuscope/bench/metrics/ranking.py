"""nDCG@10 and recall of ranked documents, through `ir-measures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import SetupError

MEASURES = ("nDCG@10", "R@20")


def ranking_scores(
    rankings: Mapping[str, Sequence[str]], grades: Mapping[str, Mapping[str, int]], names: Sequence[str] = MEASURES
) -> dict[str, dict[str, float]]:
    """query_id -> measure (of `names`) -> value, for every judged query; one that has no ranking scores 0.

    `rankings` is query_id -> docids, best first; a query's own id among them is left out (BEIR: an argument is not its own
    counter-argument). `grades` is query_id -> docid -> grade; queries without a relevant document have no value.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise SetupError("ranking measures need a package: pip install 'corpuscope[bench]'") from error
    judged = {query_id: dict(g) for query_id, g in grades.items() if any(grade > 0 for grade in g.values())}
    run = {
        query_id: {
            docid: float(-rank) for rank, docid in enumerate(d for d in rankings.get(query_id, ()) if d != query_id)
        }
        for query_id in judged
    }
    scores: dict[str, dict[str, float]] = {query_id: dict.fromkeys(names, 0.0) for query_id in judged}
    measures = [ir_measures.parse_measure(measure) for measure in names]
    for metric in ir_measures.iter_calc(measures, judged, {q: docs for q, docs in run.items() if docs}):
        scores[metric.query_id][str(metric.measure)] = float(metric.value)
    return scores
