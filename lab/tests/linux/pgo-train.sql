-- SPDX-License-Identifier: GPL-2.0-or-later
-- What sqlite3 is trained and measured with: inserts, an index, joins, groups, text, updates.
CREATE TABLE a(id INTEGER PRIMARY KEY, k INTEGER, name TEXT);
CREATE TABLE b(id INTEGER PRIMARY KEY, a INTEGER, v REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO a SELECT i, i * 7919 % 1009, 'name' || (i * 31 % 4999) FROM n;
INSERT INTO b SELECT id, id * 13 % 20000, k / 3.0 FROM a;
CREATE INDEX a_k ON a(k);
CREATE INDEX a_name ON a(name);
SELECT count(*), sum(v) FROM a JOIN b ON b.a = a.id WHERE a.k < 300;
SELECT k, count(*) c, max(name) FROM a GROUP BY k ORDER BY c DESC, k LIMIT 5;
SELECT count(*) FROM a WHERE name LIKE '%77%' OR substr(name, 5) IN (SELECT k FROM a WHERE k % 50 = 0);
UPDATE a SET name = upper(name) WHERE k BETWEEN 100 AND 400;
DELETE FROM b WHERE a IN (SELECT id FROM a WHERE k % 3 = 1);
SELECT count(DISTINCT name), (SELECT total(v) FROM b) FROM a;
