"""The Spark part of a profile: derived settings, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.spark.session.machine import available_cores
from dbt.adapters.ducklake.spark.session.node_settings import node_settings
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import PROTECTED, REQUIRED, SparkSettings, require_allowed_setting


def test_a_local_master_listens_locally_and_has_a_shuffle_partition_per_thread() -> None:
    config = SparkSettings(master="local[3]").launch_config()
    assert config["spark.master"] == "local[3]"
    assert config["spark.driver.host"] == config["spark.driver.bindAddress"] == "127.0.0.1"
    assert config["spark.sql.shuffle.partitions"] == "3"
    assert config["spark.scheduler.mode"] == "FAIR"
    assert config["spark.ui.enabled"] == "false"
    assert config["spark.buffer.pageSize"] == "2m"


@pytest.mark.parametrize(
    ("master", "cores"), [("local", 1), ("local[*]", available_cores()), ("local[4, 2]", 4), ("local-cluster[2,1,1024]", None)]
)
def test_threads_of_local_masters(master: str, cores: int | None) -> None:
    assert SparkSettings(master=master).local_cores() == cores


def test_a_cluster_keeps_its_own_host_memory_and_partitions() -> None:
    config = SparkSettings(master="spark://host:7077").launch_config()
    assert not {"spark.driver.host", "spark.driver.memory", "spark.buffer.pageSize", "spark.sql.shuffle.partitions"} & set(config)


def test_the_profile_overrides_defaults_but_not_required_settings() -> None:
    settings = SparkSettings(config={"spark.sql.session.timeZone": "Europe/Rome", "spark.ui.enabled": True, "spark.x": 3})  # type: ignore[dict-item]
    assert settings.session_config()["spark.sql.session.timeZone"] == "Europe/Rome"
    assert settings.launch_config()["spark.ui.enabled"] == "true"
    assert settings.launch_config()["spark.x"] == "3"
    assert REQUIRED.items() <= settings.session_config().items()
    with pytest.raises(ConfigurationError, match="fieldId"):
        SparkSettings(config={"spark.sql.parquet.fieldId.read.enabled": "false"})


def test_spark_keeps_a_long_history_only_if_it_is_shown() -> None:
    kept = "spark.sql.ui.retainedExecutions"
    assert SparkSettings().launch_config()[kept] == "20"
    assert SparkSettings(config={kept: "7"}).launch_config()[kept] == "7"
    assert kept not in SparkSettings(config={"spark.ui.enabled": "true"}).launch_config()
    assert kept not in SparkSettings(remote="sc://host:15002", master=None).launch_config()


def test_contradictions_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="not both"):
        SparkSettings(master="local[2]", remote="sc://host:15002")
    with pytest.raises(ConfigurationError, match="sc://host:15002"):
        SparkSettings(remote="http://host")
    with pytest.raises(ConfigurationError, match="fast_start"):
        SparkSettings(remote="sc://host:15002", fast_start=True)
    with pytest.raises(ConfigurationError, match="`remote`"):
        SparkSettings(config={"spark.remote": "sc://host:15002"})
    with pytest.raises(ConfigurationError, match="`master`"):
        SparkSettings(config={"spark.master": "yarn"})


@pytest.mark.parametrize(
    ("remote", "fault"),
    [
        ("sc://host:443/;token=c2VjcmV0PT0==", "%3D"),
        ("sc://host:15002/token=s3cret", "only parameters can follow"),
        ("sc://host:15002;token=s3cret", "port is not a number"),
        ("sc://host/;token=s3c#ret", "%23"),
        ("sc:///;token=s3cret", "no host"),
    ],
)
def test_a_wrong_address_is_refused_without_its_token(remote: str, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault) as raised:
        SparkSettings(remote=remote)
    assert "s3c" not in str(raised.value)
    assert "c2V" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


@pytest.mark.parametrize("remote", ["sc://host", "sc://host/", "sc://[::1]:15002/;token=c2VjcmV0%3D%3D;use_ssl=true", "local[2]"])
def test_a_right_address_is_accepted(remote: str) -> None:
    assert SparkSettings(remote=remote).remote == remote


def test_a_remote_spark_is_not_launched() -> None:
    settings = SparkSettings(remote="sc://host:15002")
    assert not settings.is_local
    assert "spark.master" not in settings.launch_config()


def test_settings_of_a_node_are_converted_to_text() -> None:
    assert node_settings(None) == {}
    assert node_settings({"spark.sql.ansi.enabled": False, "spark.sql.shuffle.partitions": 7}) == {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.shuffle.partitions": "7",
    }


@pytest.mark.parametrize("given", ["spark.x=1", ["spark.x"], {"spark.x": None}, {"spark.sql": {"x": 1}}])
def test_settings_that_are_not_a_map_are_refused(given: object) -> None:
    with pytest.raises(ConfigurationError, match="spark_config must be a map"):
        node_settings(given)


@pytest.mark.parametrize("value", [None, {"partitions": 4}, ["a:b:1", "c:d:2"]])
def test_a_setting_without_a_single_value_is_refused_by_name(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"`spark\.x` in `spark\.config` has no single value"):
        SparkSettings(config={"spark.y": "1", "spark.x": value})  # type: ignore[dict-item]


def test_a_node_cannot_change_required_settings() -> None:
    with pytest.raises(ConfigurationError, match=r"spark\.sql\.caseSensitive=true"):
        node_settings({"spark.sql.caseSensitive": True})


@pytest.mark.parametrize("key", list(PROTECTED))
def test_a_protected_setting_keeps_its_value_and_the_error_gives_the_reason(key: str) -> None:
    protected = PROTECTED[key]
    require_allowed_setting(key, f" {protected.value.upper()} ")
    wrong = {"true": "false", "false": "true"}.get(protected.value, "LEGACY")
    for value in (wrong, "", f"'{protected.value}'", None):
        with pytest.raises(ConfigurationError) as caught:
            require_allowed_setting(key, value)
        assert key in str(caught.value)
        assert protected.reason in str(caught.value)
    with pytest.raises(ConfigurationError):
        node_settings({key: wrong})
    with pytest.raises(ConfigurationError):
        SparkSettings(config={key: wrong})


@pytest.mark.parametrize(
    "key", ["spark.sql.ansi.enabled", "spark.sql.optimizer.nestedSchemaPruning.enabled", "spark.sql.storeAssignmentPolicy"]
)
def test_other_settings_can_be_changed(key: str) -> None:
    for value in ("false", "LEGACY", None):
        require_allowed_setting(key, value)


def test_settings_are_known_before_the_start_unless_spark_finds_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "pyspark", None)  # another test may have started Spark
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert SparkRuntime(SparkSettings()).settings_are_known
    assert not SparkRuntime(SparkSettings(master=None)).settings_are_known
    assert not SparkRuntime(SparkSettings(remote="sc://host")).settings_are_known
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert SparkRuntime(SparkSettings()).settings_are_known
    (tmp_path / "spark-defaults.conf").write_text("spark.sql.timestampType TIMESTAMP_NTZ\n")
    assert not SparkRuntime(SparkSettings()).settings_are_known
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.timestampType=TIMESTAMP_NTZ pyspark-shell")
    assert not SparkRuntime(SparkSettings()).settings_are_known
