"""Kafka's error names and numbers."""

from kio.schema.errors import ErrorCode as OtherErrorCode

from replica.model.kafka_errors import DRAFT_ERRORS, ErrorCode, error_name, error_of

SINCE_4_2 = {
    "GROUP_DELETION_FAILED": 134,
    "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED": 135,
    "CONTROLLER_ID_NOT_REGISTERED": 136,
}
"""Errors of Kafka 4.4.0 (org.apache.kafka.common.protocol.Errors) that the other implementation
lacks, as it knows Kafka 4.1."""


def test_every_error_has_the_number_that_another_implementation_gives_it():
    theirs = {code.name.upper(): int(code) for code in OtherErrorCode}
    kafkas = {code.name: int(code) for code in ErrorCode if code not in DRAFT_ERRORS}
    assert kafkas == theirs | SINCE_4_2


def test_an_unknown_error_is_shown_by_its_number():
    assert error_name(136) == "CONTROLLER_ID_NOT_REGISTERED"
    assert error_name(9999) == "error 9999"


def test_an_unknown_error_number_is_an_unknown_server_error():
    assert error_of(9999) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert [error_of(code) for code in ErrorCode] == list(ErrorCode)


def test_the_drafts_errors_lie_above_all_numbers_of_kafka():
    kafkas = set(ErrorCode) - DRAFT_ERRORS
    assert min(DRAFT_ERRORS) > max(kafkas) + 500
