import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { convertChangesToXML } = await import(pathToFileURL('lib/xml.mjs').href);
assert.equal(convertChangesToXML([{ value: `it's <"&">`, added: true }]), '<ins>it&#39;s &lt;&quot;&amp;&quot;&gt;</ins>');
assert.equal(convertChangesToXML([{ value: 'a', removed: true }, { value: 'b' }]), '<del>a</del>b');
