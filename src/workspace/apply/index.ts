/** The door of src/workspace/apply: what others may use. */
export { createApplyEngine } from './engine.js';
export { type LastChange, type OpenChange, lastChange, openChanges } from './inspect.js';
export { appliedRecords, appliedUnder, releaseDead, releaseAllDead } from './lock-owners.js';
export { isLocal, localHolder, stateOfLocal } from './lock-owners.js';
export { createLocks } from './lock.js';
export { isOpen, recordsOf } from './record.js';
export { whyAway } from './recover.js';
