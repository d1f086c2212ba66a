"""Pictures of graphs."""

from xml.etree import ElementTree as ET

from actors import END, START, StateGraph
from tests.graphs import Counted, chain, says


def test_a_picture_shows_nodes_and_all_ways_between_them() -> None:
    graph = StateGraph(Counted)
    for name in ("a", "b", 'odd "<name>"', "d"):
        graph.add_node(name, says("x"), goto=["d"] if name == "b" else ())
    graph.set_entry_point("a").add_edge("a", "b").add_edge("a", 'odd "<name>"')
    graph.add_edge(["b", 'odd "<name>"'], "d")
    graph.add_conditional_edges("d", lambda state: True, {True: END, False: "a"})
    picture = graph.compile().picture()
    assert str(picture) == picture.mermaid
    assert picture.mermaid.startswith("flowchart TD\n")
    for line in (
        "n0([START])",
        'n1["a"]',
        'n3["odd #quot;#lt;name>#quot;"]',
        "n0 --> n1",
        'n2 -->|"all of b, odd #quot;#lt;name>#quot;"| n4',
        'n4 -.->|"True"| n5',
        'n4 -.->|"False"| n1',
        'n2 -.->|"goto"| n4',
    ):
        assert f"    {line}\n" in picture.mermaid
    root = ET.fromstring(picture.svg)
    assert root.tag.endswith("svg")
    titles = {each.text for each in root.iter() if each.tag.endswith("title")}
    assert titles == {"START", "END", "a", "b", 'odd "<name>"', "d"}


def test_a_condition_without_a_path_map_may_lead_anywhere() -> None:
    graph = StateGraph(Counted).add_node("a", says("x")).add_edge(START, "a")

    def anywhere(state: Counted) -> str:
        return END

    graph.add_conditional_edges("a", anywhere)
    mermaid = graph.compile().picture().mermaid
    assert 'n1 -.->|"anywhere: a"| n1' in mermaid


def test_a_picture_shows_itself_in_a_notebook() -> None:
    picture = chain(("a", says("x"))).picture()
    assert picture._repr_svg_() == picture.svg
