"""Whether Kafka reads a login module: what it says was seen with real Kafka (STARTS.md)."""

from __future__ import annotations

import pytest

from replica.doctor.startup.jaas import jaas_problem

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    "text",
    [
        f"{MODULE} required;",
        f'{MODULE} REQUIRED username="a;b" password="=\\"" ;\n',
        f"{MODULE} optional a=b c='d e';",
        "com.acme.Login required;",
    ],
)
def test_a_login_module_with_its_options_is_read(text: str) -> None:
    assert jaas_problem(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Login module not specified"),
        (MODULE, "control flag not specified"),
        (f"{MODULE} maybe;", "Invalid login module control flag"),
        (f"{MODULE} required a;", "Value not specified for key"),
        (f'{MODULE} required a="b"', "not terminated by semi-colon"),
        (f'{MODULE} required a="b;', "not terminated by semi-colon"),
        (f"{MODULE} required; {MODULE} required;", "should be 1 module"),
        (f"{MODULE}2 required;", "No LoginModule found"),
    ],
)
def test_what_kafka_says_of_a_login_module_that_it_can_t_read(text: str, words: str) -> None:
    problem = jaas_problem(text)
    assert problem is not None
    assert words in problem[1]


def test_many_quotation_marks_without_their_ends_take_no_time() -> None:
    assert jaas_problem(f"{MODULE} required a=" + '"\\' * 500_000) is not None
