/** The door of src/stores: what others may use. */
export { createArchive } from './directory/archive.js';
export { isAside, removeBlob, restoreBlob } from './directory/blobs.js';
export { createRecordStore } from './directory/records.js';
