"""The manifests for Kubernetes: as its schemas want them, with Strimzi's names, the rights that the
observer needs and no more, and commands that kraftlake has."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.cli.engine.connecting import client_config
from tests.docs.pages import ROOT
from tests.kraftlake_process import REPOSITORY, kraftlake

FOLDER = REPOSITORY / "conf" / "kubernetes"
PAGE = ROOT / "docs" / "how-to" / "kubernetes.md"
VALIDATOR = "kubernetes-validate==1.37.0"
STRIMZI_MODELS = "@kubernetes-models/strimzi-kafka-operator@1.0.1"
STRIMZI = "strimzi.io/cluster"


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def the(name: str, kind: str) -> dict[str, Any]:
    """The one of its kind, or the first."""
    return next(each for each in documents(name) if each["kind"] == kind)


def pods() -> dict[str, dict[str, Any]]:
    """The pods' specs of workloads that aren't Spark's."""
    observer = the("observer.yaml", "StatefulSet")["spec"]["template"]["spec"]
    capture = the("capture.yaml", "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return {"observer": observer, "capture": capture}


def arguments() -> list[str]:
    (container,) = pods()["observer"]["containers"]
    return list(container["args"])


@pytest.mark.slow
def test_a_validator_accepts_each_manifest_of_kubernetes_own_kinds(tmp_path: Path) -> None:
    """Of 119 MB with its schemas, so it is no dependency; what it has no schema of it names."""
    install = [sys.executable, "-m", "pip", "install", "-q", "--target", tmp_path, VALIDATOR]
    if subprocess.run(install, check=False).returncode:
        pytest.skip("the package index can't be had")
    command = [sys.executable, tmp_path / "bin" / "kubernetes-validate", "--strict"]
    for path in sorted(FOLDER.glob("*.yaml")):
        ran = subprocess.run(
            [*command, "-k", "1.31", path],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        said = ran.stdout + ran.stderr
        passed = said.count("passed for resource")
        custom = [each for each in documents(path.name) if _is_custom(each)]
        assert passed == len(documents(path.name)) - len(custom), said
        assert "ERROR" not in said, said


def _is_custom(document: dict[str, Any]) -> bool:
    group = document["apiVersion"].partition("/")[0]
    return group in ("kafka.strimzi.io", "sparkoperator.k8s.io")


@pytest.mark.slow
def test_strimzi_s_definition_accepts_the_kafka_user_and_refuses_an_unknown_operation(
    tmp_path: Path,
) -> None:
    """An npm package carries the definitions that Strimzi publishes, as checks that Node runs. The
    package's checks look at types and at allowed values; they let unknown fields pass."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm on this machine")
    install = [npm, "install", "--silent", "--prefix", str(tmp_path), STRIMZI_MODELS]
    if subprocess.run(install, check=False).returncode:
        pytest.skip("the package index can't be had")
    module = STRIMZI_MODELS.rpartition("@")[0] + "/kafka.strimzi.io/v1/KafkaUser"
    (tmp_path / "check.mjs").write_text(
        f'import {{ KafkaUser }} from "{module}";\n'
        "new KafkaUser(JSON.parse(process.argv[2])).validate();\n"
    )

    def refused(user: dict[str, Any]) -> str:
        command = ["node", str(tmp_path / "check.mjs"), json.dumps(user)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    user = the("observer.yaml", "KafkaUser")
    assert refused(user) == ""
    (acl,) = user["spec"]["authorization"]["acls"]
    acl["operations"] = ["ClusterActions"]
    assert "acls/0/operations/0 must be equal to one of the allowed values" in refused(user)


def test_everything_has_a_name_a_namespace_and_the_labels_of_its_part() -> None:
    for path in sorted(FOLDER.glob("*.yaml")):
        for document in documents(path.name):
            metadata = document["metadata"]
            assert metadata["namespace"] == "kafka", metadata
            assert metadata["labels"]["app.kubernetes.io/name"] == "kraftlake", metadata
            assert metadata["labels"]["app.kubernetes.io/component"] == path.stem, metadata


def test_the_user_of_the_observer_has_two_rights_on_the_cluster_and_no_other() -> None:
    user = the("observer.yaml", "KafkaUser")
    assert user["metadata"]["labels"][STRIMZI] == "my-cluster"
    assert user["spec"]["authentication"] == {"type": "tls-external"}
    (acl,) = user["spec"]["authorization"]["acls"]
    assert acl == {"resource": {"type": "cluster"}, "operations": ["ClusterAction", "Describe"]}


def test_the_network_policy_lets_the_observer_s_pods_to_the_controllers_port() -> None:
    policy = the("observer.yaml", "NetworkPolicy")["spec"]
    (rule,) = policy["ingress"]
    (peer,) = rule["from"]
    template = the("observer.yaml", "StatefulSet")["spec"]["template"]["metadata"]["labels"]
    assert peer["podSelector"]["matchLabels"].items() <= template.items()
    assert policy["podSelector"]["matchLabels"] == {
        STRIMZI: "my-cluster",
        "strimzi.io/kind": "Kafka",
        "strimzi.io/controller-role": "true",
    }
    (port,) = rule["ports"]
    bootstrap = arguments()[arguments().index("--bootstrap") + 1].split(",")
    assert all(
        re.fullmatch(
            rf"my-cluster-controller-\d\.my-cluster-kafka-brokers\.kafka\.svc:{port['port']}", each
        )
        for each in bootstrap
    )
    assert len(bootstrap) == 3


def test_the_observer_s_command_is_one_and_listens_where_the_probes_ask(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text(the("observer.yaml", "ConfigMap")["data"]["client.properties"])
    found = arguments()
    found[found.index("--command-config") + 1] = str(config)
    ran = kraftlake(*found)  # its key store is not here
    assert ran.returncode == 1
    assert ran.stderr == "kraftlake: error: /run/kraftlake/user.pem: No such file or directory\n"
    (container,) = pods()["observer"]["containers"]
    (port,) = container["ports"]
    assert found[found.index("--metrics") + 1] == f"0.0.0.0:{port['containerPort']}"
    asked = {name: container[name]["httpGet"]["path"] for name in container if "Probe" in name}
    assert asked == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }
    (service,) = the("observer.yaml", "Service")["spec"]["ports"]
    assert service["targetPort"] == port["name"]


def test_pods_are_confined_and_every_volume_is_there() -> None:
    for spec in pods().values():
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        volumes = {each["name"] for each in spec["volumes"]}
        for container in [*spec.get("initContainers", []), *spec["containers"]]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
            mounted = {each["name"] for each in container["volumeMounts"]}
            assert mounted - volumes <= {"data"}  # of the claim's template


def test_the_capture_job_runs_where_its_controller_does_and_mounts_it_read_only() -> None:
    spec = pods()["capture"]
    (term,) = spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    pod = term["labelSelector"]["matchLabels"]["strimzi.io/pod-name"]
    claims = {each["name"]: each.get("persistentVolumeClaim") for each in spec["volumes"]}
    assert claims["controller"]["claimName"] == f"data-0-{pod}"
    (container,) = spec["containers"]
    mounts = {each["name"]: each for each in container["volumeMounts"]}
    assert mounts["controller"]["readOnly"] is True


def test_the_capture_job_s_script_captures_and_prunes(tmp_path: Path, data: Path) -> None:
    (container,) = pods()["capture"]["containers"]
    (script,) = container["args"]
    node = data / "kafka-4.1.1-dynamic" / "live" / "2"
    script = script.replace("/var/lib/kafka/data/kafka-log0", str(node))
    command = Path(sys.executable).with_name("kraftlake")
    script = script.replace("kraftlake ", f"{command} ").replace("/captures/", f"{tmp_path}/")
    ran = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert len(list(tmp_path.glob("controller-0/*/capture.json"))) == 1


def test_the_lake_s_jobs_are_scripts_that_there_are_and_run_one_at_a_time() -> None:
    account = the("lake.yaml", "ServiceAccount")["metadata"]["name"]
    for job in documents("lake.yaml"):
        if job["kind"] != "ScheduledSparkApplication":
            continue
        template = job["spec"]["template"]
        script = template["mainApplicationFile"].removeprefix("local:///opt/kraftlake/")
        assert (REPOSITORY / script).exists(), script
        assert job["spec"]["concurrencyPolicy"] == "Forbid"
        assert template["driver"]["serviceAccount"] == account


@pytest.mark.skipif(shutil.which("openssl") is None, reason="this machine has no openssl")
def test_the_page_makes_a_certificate_that_the_observer_s_key_store_takes(tmp_path: Path) -> None:
    """The commands of the page, with a CA of the test's in place of Strimzi's; then the init
    container's, and the observer's file of properties."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("openssl ")]
    assert len(lines) == 2
    make_ca = (
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -subj /CN=cluster-ca"
    )
    for line in (make_ca, *lines):
        subprocess.run(line.split(), cwd=tmp_path, check=True, capture_output=True)
    (script,) = pods()["observer"]["initContainers"][0]["args"]
    moved = script.replace("/run/secrets/observer", str(tmp_path))
    moved = moved.replace("/run/kraftlake", str(tmp_path))
    subprocess.run(["/bin/sh", "-c", moved], check=True)
    text = the("observer.yaml", "ConfigMap")["data"]["client.properties"]
    text = text.replace("/run/kraftlake", str(tmp_path))
    config = tmp_path / "client.properties"
    config.write_text(text.replace("/run/secrets/cluster-ca", str(tmp_path)))
    assert (tmp_path / "user.pem").stat().st_mode & 0o077 == 0
    assert client_config(str(config)).tls is not None
