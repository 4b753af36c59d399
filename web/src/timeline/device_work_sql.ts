// What is asked for kernels and copies of each stream.

export const WORK =
  "SELECT track_id, count(*) AS many, sum(dur_ns) AS sum_ns" +
  " FROM (SELECT track_id, dur_ns FROM kernels UNION ALL SELECT track_id, dur_ns FROM copies) GROUP BY track_id ORDER BY track_id";
