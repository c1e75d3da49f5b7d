import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
assert.deepEqual(JSON.parse(readFileSync('src/config.json', 'utf8')), { host: 'localhost', port: 8080, timeout: 60, retries: 3 });
