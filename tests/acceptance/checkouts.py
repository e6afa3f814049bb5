"""Public repositories that tests run and that are not part of this one, each at a commit: `make packages` checks them out.

    python -m tests.acceptance.checkouts ~/.cache/dbt-ducklake/packages

A folder that is at its commit already needs no network. docs/packages.md has the same commits; a test compares them.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Checkout:
    """A repository of GitHub at a commit. Its folder has the repository's name."""

    repository: str
    commit: str

    @property
    def name(self) -> str:
        """The folder of the checkout, below that of all checkouts."""
        return self.repository.partition("/")[2]

    def update(self, folder: Path) -> bool:
        """Bring the checkout below a folder to its commit, without local changes. Return whether it was fetched."""
        target = folder / self.name
        target.mkdir(parents=True, exist_ok=True)
        _git(target, "init", "--quiet")
        known = _git(target, "cat-file", "-e", f"{self.commit}^{{commit}}", check=False) == 0
        if not known:
            _git(target, "fetch", "--quiet", "--depth", "1", f"https://github.com/{self.repository}", self.commit)
        _git(target, "checkout", "--quiet", "--force", "--detach", self.commit)
        return not known


def _git(folder: Path, *arguments: str, check: bool = True) -> int:
    return subprocess.run(["git", "-C", str(folder), *arguments], check=check, stderr=None if check else subprocess.DEVNULL).returncode


PACKAGES = {
    "audit_helper": Checkout("dbt-labs/dbt-audit-helper", "3bd0ca4e9d79b7d740ad7e77384b3d03a16cf242"),
    "automate_dv": Checkout("Datavault-UK/automate-dv", "0aa71153fbb233c630de07e3bb2a8ea3801880e1"),
    "codegen": Checkout("dbt-labs/dbt-codegen", "526cb1f0e8464d88b931e0249b4198039f15d641"),
    "datavault4dbt": Checkout("ScalefreeCOM/datavault4dbt", "bd8711519fe2e9276a35d2134692745a0babcce5"),
    "dbt_artifacts": Checkout("brooklyn-data/dbt_artifacts", "6d37fa068c47de8ab85722047ca5af3f873cd508"),
    "dbt_date": Checkout("godatadriven/dbt-date", "e706de9630b228aae58a2bb0e99f34b19abb4688"),
    "dbt_expectations": Checkout("metaplane/dbt-expectations", "77d385655ce3318685cf6930b46d077f61de5f55"),
    "dbt_profiler": Checkout("data-mie/dbt-profiler", "1cc879230b8569c095f62148db0bda76a242d249"),
    "dbt_project_evaluator": Checkout("dbt-labs/dbt-project-evaluator", "927abbd523b627f4f1595e2fb93ebf2244314bd6"),
    "dbt_unit_testing": Checkout("EqualExperts/dbt-unit-testing", "fbfd8967ddd9b6c919e2ba487e9f37f75950c4e0"),
    "dbt_utils": Checkout("dbt-labs/dbt-utils", "700764ce230b2fb775b5338b6bc77a72233ea34c"),
    "elementary": Checkout("elementary-data/dbt-data-reliability", "ccb0de3409756b7c3d2a08a6216be7ba548c18ab"),
    "fivetran_utils": Checkout("fivetran/dbt_fivetran_utils", "fc01cbd360738915b338c1b0c9508676c4bc7207"),
    "github": Checkout("fivetran/dbt_github", "48ceaa54a3ff3474323612a1b34f3bf39dd82783"),
    "hubspot": Checkout("fivetran/dbt_hubspot", "4552ec0949f95991a9c6637d1a955beee4f0747e"),
    "snowplow_utils": Checkout("snowplow/dbt-snowplow-utils", "2eaea3ceed7f8636a0250088be9051e0273d44df"),
    "snowplow_web": Checkout("snowplow/dbt-snowplow-web", "0e4f868f6bc7c35ec154506fb48f00584c15f95a"),
    "spark_utils": Checkout("dbt-labs/spark-utils", "f1771e7906b3c8fa5bc93b68174a9a5d5ddc2730"),
    "stripe": Checkout("fivetran/dbt_stripe", "b5e536a519ae832dd7667466977cfa64e23d5285"),
}
"""The packages of `test_packages.py`, by their names in dbt."""

JAFFLE_SHOP = Checkout("dbt-labs/jaffle-shop-classic", "fd7bfacae4f497ff044a6a0275268676bf1b64c3")
DUCKLAKE_SUITE = Checkout("duckdb/ducklake", "5ef9e03d58286cf4bc532c62a69ae3c51fbb8f51")
"""The branch v1.5-variegata, that of the installed DuckDB release."""


def main(folder: Path) -> None:
    """Update all checkouts below a folder."""
    for checkout in (*PACKAGES.values(), JAFFLE_SHOP, DUCKLAKE_SUITE):
        fetched = checkout.update(folder)
        print(f"{checkout.name} {checkout.commit[:7]}{' fetched' if fetched else ''}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
