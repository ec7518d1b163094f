// The search page alone runs this. Sphinx shows only pages that hold every word of a query, and a pasted message holds
// numbers, shapes and names that no page has. So a message is looked up as explain() does it, by its pattern; a piece
// of one by the share of its words. What is found stands before the other results.
(() => {
  const known = MESSAGES;
  const split = text => new Set(text.toLowerCase().split(/[^a-z_]+/).filter(word => word.length > 1));
  for (const row of known) {
    row.pattern = new RegExp(row.pattern, "s");
    row.words = split(row.words);
  }
  const all = new Set(known.flatMap(row => [...row.words]));
  const rare = new Map([...all].map(word =>
    [word, Math.log(1 + known.length / known.filter(row => row.words.has(word)).length)]));
  const weight = words => words.reduce((sum, word) => sum + rare.get(word), 0);

  const found = query => {
    const exact = known.find(row => row.pattern.test(query));
    if (exact) return [exact];
    const asked = [...split(query)];
    const words = asked.filter(word => rare.has(word));
    if (words.length < 3 || words.length < asked.length * 0.6) return []; // a topic, and no piece of a message
    return known.map(row => [weight(words.filter(word => row.words.has(word))) / weight(words), row])
      .filter(([share]) => share > 0.75)
      .sort((a, b) => b[0] - a[0])
      .slice(0, 3)
      .map(([, row]) => row);
  };

  const usual = Search._performSearch;
  Search._performSearch = (query, ...terms) => {
    const first = found(query);
    const names = new Set(first.map(row => row.page));
    const others = usual(query, ...terms).filter(result => !names.has(result[0]));
    const shown = first.map(row => [row.page, row.title, "", null, 1000, row.page + ".md", "title"]);
    return [...others, ...shown.reverse()]; // the last one is shown first
  };
})();
