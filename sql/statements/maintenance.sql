-- Files are compacted, ordered, purged and deleted; rows stay.

CREATE TABLE t (id INT, day DATE) USING delta PARTITIONED BY (day);

INSERT INTO t VALUES (1, DATE'2026-01-01');

INSERT INTO t VALUES (2, DATE'2026-01-01'), (3, DATE'2026-01-02');

OPTIMIZE t WHERE day = DATE'2026-01-01';

OPTIMIZE t ZORDER BY (id);

REORG TABLE t APPLY (PURGE);

VACUUM t;

VACUUM t LITE DRY RUN;

GENERATE symlink_format_manifest FOR TABLE t;

SELECT * FROM t ORDER BY id;
--| id int, day date
--| 1, 2026-01-01
--| 2, 2026-01-01
--| 3, 2026-01-02
