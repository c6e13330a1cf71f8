-- More is read of each row, a long text among it.
SELECT
    l_shipmode,
    sum(l_quantity) AS quantity,
    sum(l_extendedprice) AS price,
    max(l_comment) AS comment,
    min(l_shipdate) AS shipped,
    max(l_partkey) AS part
FROM lineitem
GROUP BY l_shipmode;
