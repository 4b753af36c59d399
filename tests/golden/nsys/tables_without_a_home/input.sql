-- Records that no table of ours takes are counted by the name of theirs. What is no plain table is not touched.
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, eventId INTEGER);
CREATE TABLE NEW_KIND_OF_RECORD (start INTEGER, secret TEXT);
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, text TEXT);
CREATE TABLE "odd name; with marks" (start INTEGER);
CREATE TABLE EMPTY_EVENTS (start INTEGER);
CREATE TABLE not_records (id INTEGER);
CREATE TABLE other_order (start INTEGER PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
  -- Comments, with (brackets), commas and 'quotes', are part of the statement.
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
  shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER,
  registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
  blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
  staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL,
  localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER,
  graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS SELECT 1 AS start, 2 AS "end", 0 AS deviceId;
CREATE TRIGGER once AFTER INSERT ON StringIds BEGIN SELECT 1; END;
CREATE INDEX by_start ON NEW_KIND_OF_RECORD(start);
INSERT INTO StringIds VALUES (1,'void gemm<float, 128>(float*, int)'),(2,'gemm'),(3,'_Z4gemmIfLi128EEvPfi'),(4,'cudaLaunchKernel_v7000'),
  (5,'cuLaunchKernel'),(6,'main_thread'),(7,'cudaMemcpyAsync_v3020'),(8,'cudaStreamSynchronize_v3020');
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0,1),(0,2);
INSERT INTO NEW_KIND_OF_RECORD VALUES (1,'not kept'),(2,'not kept'),(3,'not kept');
INSERT INTO DIAGNOSTIC_EVENT VALUES (1,'not kept');
INSERT INTO "odd name; with marks" VALUES (1);
INSERT INTO not_records VALUES (1);
INSERT INTO other_order VALUES (1);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000,2000,0,1,7,1,281476654432256,1,2,3,1,0,32,8,4,1,128,1,1,1024,2048,0,94371840,5,32768,NULL,0);
