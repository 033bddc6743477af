-- Whatever the connection had before, it has unchanged afterwards: functions, table functions, modules.
CREATE TEMP TABLE functions AS SELECT name, builtin, type, enc, narg, flags FROM pragma_function_list;
CREATE TEMP TABLE modules AS SELECT name FROM pragma_module_list;
.load ./tranche
SELECT count(*) > 100 FROM functions;
SELECT * FROM functions EXCEPT SELECT name, builtin, type, enc, narg, flags FROM pragma_function_list;
SELECT name FROM modules EXCEPT SELECT name FROM pragma_module_list;
SELECT count(*), sum(value) FROM generate_series(1, 10);
-- Again, on the same connection.
.load ./tranche
SELECT tranche_version() GLOB '*.*.*', json_valid(tranche_debug());
SELECT tranche_debug() ->> 'left_alone';
