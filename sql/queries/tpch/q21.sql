-- Suppliers who kept orders waiting: those who alone were late.
SELECT s_name, count(*) AS numwait
FROM supplier
JOIN lineitem AS l1 ON s_suppkey = l1.l_suppkey
JOIN orders ON o_orderkey = l1.l_orderkey
JOIN nation ON s_nationkey = n_nationkey
WHERE o_orderstatus = 'F'
    AND l1.l_receiptdate > l1.l_commitdate
    AND n_name = 'SAUDI ARABIA'
    AND EXISTS (
        SELECT 1 FROM lineitem AS l2
        WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey
    )
    AND NOT EXISTS (
        SELECT 1 FROM lineitem AS l3
        WHERE l3.l_orderkey = l1.l_orderkey
            AND l3.l_suppkey <> l1.l_suppkey
            AND l3.l_receiptdate > l3.l_commitdate
    )
GROUP BY s_name
ORDER BY numwait DESC, s_name
LIMIT 100;
