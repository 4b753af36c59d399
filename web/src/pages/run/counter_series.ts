// What is asked for counters over time.

export const SERIES = `SELECT name, series, unit, count(*) AS samples, min(value) AS smallest, avg(value) AS mean, max(value) AS largest
FROM counters GROUP BY ALL ORDER BY ALL`;
