"""Seeds."""

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
    BaseSimpleSeedWithBOM as TestSimpleSeedWithBOM,
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
