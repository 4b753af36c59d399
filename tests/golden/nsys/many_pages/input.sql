-- Small pages: trees of several levels, names that go on in other pages, a column that came later.
PRAGMA page_size=512;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, demangledName INTEGER);
INSERT INTO StringIds SELECT value, 'kernel_' || value || '<' || hex(zeroblob(value * 40)) || '>'
  FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 12) SELECT value FROM n);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT value * 1000, value * 1000 + 10 + value % 7, value % 2, 7, 1 + value % 12
  FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 400) SELECT value FROM n);
ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN registersPerThread INTEGER;
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (500000, 500001, 0, 7, 1, 64);
