-- Little is read of each row: what deletion vectors cost shows.
SELECT l_shipmode, sum(l_quantity) AS quantity
FROM lineitem
GROUP BY l_shipmode;
