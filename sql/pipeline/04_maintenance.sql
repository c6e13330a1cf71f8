-- Maintenance: small files become large ones, and files that no version of the last week has are deleted.

OPTIMIZE delta.`${lake}/bronze/events`;

OPTIMIZE delta.`${lake}/silver/orders`;

OPTIMIZE delta.`${lake}/gold/daily_sales`;

VACUUM delta.`${lake}/bronze/events`;

VACUUM delta.`${lake}/silver/orders`;

VACUUM delta.`${lake}/gold/daily_sales`;
