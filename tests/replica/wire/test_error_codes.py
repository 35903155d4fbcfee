"""Kafka's error names and numbers."""

from kio.schema.errors import ErrorCode as OtherErrorCode

from replica.wire.error_codes import ErrorCode, error_name

SINCE_4_2 = {
    "GROUP_DELETION_FAILED": 134,
    "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED": 135,
    "CONTROLLER_ID_NOT_REGISTERED": 136,
}
"""Names of org.apache.kafka.common.protocol.Errors of Kafka 4.4.0 that the other implementation,
which knows Kafka 4.1, lacks."""


def test_every_error_has_the_number_that_another_implementation_gives_it():
    theirs = {code.name.upper(): int(code) for code in OtherErrorCode}
    assert {code.name: int(code) for code in ErrorCode} == theirs | SINCE_4_2


def test_an_error_without_a_name_here_is_told_by_its_number():
    assert error_name(136) == "CONTROLLER_ID_NOT_REGISTERED"
    assert error_name(9999) == "error 9999"
