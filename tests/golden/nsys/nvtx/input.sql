-- Texts in the row or in StringIds; domains and categories named behind their first use, and by process; ranges that never
-- ended, ended on another thread or before they began; payloads of every type; names of threads.
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
  color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,
  int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER,
  jsonText TEXT, binaryData TEXT);
INSERT INTO StringIds VALUES (1,'prefill'),(2,'ncclAllReduce'),(3,'{"tokens":128}');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text") VALUES (100,900,59,281476654432357,0,'request 7');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","textId") VALUES (150,800,59,281476654432357,0,1);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","textId","category","endGlobalTid") VALUES (200,300,60,281476654432357,1,2,4,281476654432358);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text") VALUES (210,NULL,59,281476654432357,0,'never closed');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text") VALUES (220,210,59,281476654432357,0,'backwards');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","category") VALUES (250,NULL,34,281476654432357,0,'a mark',9);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text") VALUES (50,NULL,75,281476654432357,1,'NCCL');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text") VALUES (50,NULL,75,281478332154057,1,'another NCCL');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","category") VALUES (60,NULL,33,281476654432357,1,'collectives',4);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text") VALUES (70,NULL,39,281476654432358,0,'NCCL proxy');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text") VALUES (300,310,59,281476654432358,0,'on a named thread');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","color","uint64Value") VALUES (320,330,59,281476654432357,0,'u64',4278255360,7);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","int64Value") VALUES (330,340,59,281476654432357,0,'i64',-7);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","doubleValue") VALUES (340,350,59,281476654432357,0,'double',0.5);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","floatValue") VALUES (350,360,59,281476654432357,0,'float',0.25);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","uint32Value") VALUES (360,370,59,281476654432357,0,'u32',3);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","int32Value") VALUES (370,380,59,281476654432357,0,'i32',-3);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","jsonText") VALUES (380,390,59,281476654432357,0,'json','{"batch":[1,2]}');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","jsonTextId") VALUES (390,400,59,281476654432357,0,'json by id',3);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text","jsonText") VALUES (400,410,59,281476654432357,0,'no json','[');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text") VALUES (410,420,59,281478332154057,1,'of another process');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text") VALUES (420,430,4711,281476654432357,0,'of an unknown type');
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","textId") VALUES (430,440,59,281476654432357,0,99);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId") VALUES (440,NULL,76,281476654432357,1);
INSERT INTO NVTX_EVENTS ("start","end","eventType","globalTid","domainId","text") VALUES (450,460,59,NULL,0,'nobody knows who');
