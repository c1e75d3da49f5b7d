/** Entry point of src/stores for other folders. */
export { createArchive } from './directory/archive.js';
export { blobName, diskFiles, isAside, unAside } from './directory/blobs.js';
export { createRecordStore } from './directory/records.js';
