"""Hooks of runs, models, seeds and snapshots."""

from dbt.tests.adapter.hooks.test_model_hooks import (
    BaseDuplicateHooksInConfigs as TestDuplicateHooksInConfigs,
    BaseHookRefs as TestHookRefs,
    BaseHooksRefsOnSeeds as TestHooksRefsOnSeeds,
    BasePrePostModelHooks as TestPrePostModelHooks,
    BasePrePostModelHooksInConfig as TestPrePostModelHooksInConfig,
    BasePrePostModelHooksInConfigKwargs as TestPrePostModelHooksInConfigKwargs,
    BasePrePostModelHooksInConfigWithCount as TestPrePostModelHooksInConfigWithCount,
    BasePrePostModelHooksOnSeeds as TestPrePostModelHooksOnSeeds,
    BasePrePostModelHooksOnSeedsPlusPrefixed as TestPrePostModelHooksOnSeedsPlusPrefixed,
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace as TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace,
    BasePrePostModelHooksOnSnapshots as TestPrePostModelHooksOnSnapshots,
    BasePrePostSnapshotHooksInConfigKwargs as TestPrePostSnapshotHooksInConfigKwargs,
)
from dbt.tests.adapter.hooks.test_run_hooks import (
    BaseAfterRunHooks as TestAfterRunHooks,
    BasePrePostRunHooks as TestPrePostRunHooks,
)
