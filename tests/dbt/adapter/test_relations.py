"""Names, kinds and the cache of relations."""

from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors as TestAliasErrors,
    BaseAliases as TestAliases,
    BaseSameAliasDifferentSchemas as TestSameAliasDifferentSchemas,
)
from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel as TestCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly as TestCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel as TestCachingUppercaseModel,
    BaseNoPopulateCache as TestNoPopulateCache,
)
from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseCloneSameTargetAndState as TestCloneSameTargetAndState,
)
from dbt.tests.adapter.ephemeral.test_ephemeral import (
    BaseEphemeralErrorHandling as TestEphemeralErrorHandling,
)
from dbt.tests.adapter.relations.test_changing_relation_type import (
    BaseChangeRelationTypeValidator as TestChangeRelationType,
)
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed as TestDropSchemaNamed
from dbt.tests.adapter.simple_copy.test_simple_copy import EmptyModelsArentRunBase as TestEmptyModelsArentRun
