/** The door of src/stores: what others may use. */
export { createArchive } from './directory/archive.js';
export { blobName, diskFiles, isAside, unAside } from './directory/blobs.js';
export { createRecordStore } from './directory/records.js';
