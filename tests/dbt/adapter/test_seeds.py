"""Seeds."""

import os
import shutil

import pytest
from dbt.tests.adapter.simple_seed import seeds
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff as TestSeedConfigFullRefreshOff,
    BaseSeedConfigFullRefreshOn,
    BaseSeedCustomSchema as TestSeedCustomSchema,
    BaseSeedParsing as TestSeedParsing,
    BaseSeedWithEmptyDelimiter as TestSeedWithEmptyDelimiter,
    BaseSeedWithUniqueDelimiter as TestSeedWithUniqueDelimiter,
    BaseSeedWithWrongDelimiter as TestSeedWithWrongDelimiter,
    BaseSimpleSeedEnabledViaConfig as TestSimpleSeedEnabledViaConfig,
    BaseSimpleSeedWithBOM,
    BaseTestEmptySeed as TestEmptySeed,
)
from dbt.tests.util import run_dbt


class TestBasicSeedTests(BaseBasicSeedTests):
    def test_simple_seed_full_refresh_flag(self, project):
        """The view over the seed stays: a replaced table takes nothing with it."""
        self._build_relations_for_test(project)
        self._check_relation_end_state(run_dbt(["seed", "--full-refresh"]), project, exists=True)


class TestSeedConfigFullRefreshOn(BaseSeedConfigFullRefreshOn):
    def test_simple_seed_full_refresh_config(self, project):
        """The view over the seed stays: a replaced table takes nothing with it."""
        self._build_relations_for_test(project)
        self._check_relation_end_state(run_dbt(["seed", "--full-refresh"]), project, exists=True)


class TestSimpleSeedWithBOM(BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project, test_data_dir):
        """Take the seed from where the class is."""
        project.run_sql(seeds.seeds__expected_sql)
        shutil.copy(os.path.join(test_data_dir, "seed_bom.csv"), os.path.join(project.project_root, "seeds"))
