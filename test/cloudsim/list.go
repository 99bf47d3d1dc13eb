package cloudsim

// unlimited asks for all rows.
const unlimited = -1

// pageOf cuts a list as the caller asked and renders it. Without paging the server still sends no more rows than its page size,
// while the count stays the true one.
func pageOf[T any](c *call, name string, rows []T, render func(T) object) (object, error) {
	return cut(c, name, rows, render, false)
}

// pageOfCounted is pageOf for lists that show the count even for a page of no size.
func pageOfCounted[T any](c *call, name string, rows []T, render func(T) object) (object, error) {
	return cut(c, name, rows, render, true)
}

func cut[T any](c *call, name string, rows []T, render func(T) object, countAlways bool) (object, error) {
	start, size, err := c.window(len(rows))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || (size == 0 && !countAlways) {
		return object{}, nil
	}
	out := obj("count", len(rows))
	end := min(start+size, len(rows))
	if start >= end || c.countsOnly() {
		return out, nil
	}
	shown := make([]object, 0, end-start)
	for _, r := range rows[start:end] {
		shown = append(shown, render(r))
	}
	return out.with(name, shown), nil
}

// countsOnly says whether a list is asked for the number of its rows alone, which few commands can be.
func (c *call) countsOnly() bool {
	_, known := c.api.Param("retrieveonlyresourcecount")
	return known && c.flag("retrieveonlyresourcecount")
}

// window says where the wanted page starts and how long it is.
func (c *call) window(total int) (start, size int, err error) {
	limit := int(c.settingNumber("default.page.size", 500))
	if !c.has("pagesize") {
		return 0, limit, nil
	}
	size = int(c.num("pagesize", int64(limit)))
	switch {
	case size == unlimited && c.has("page"):
		return 0, 0, invalid("Can't specify page parameter when pagesize is -1 (Unlimited)")
	case size == unlimited:
		return 0, total, nil
	case size > limit:
		return 0, 0, invalid("Page size can't exceed max allowed page size value: %d", limit)
	}
	size = max(size, 0)
	return (max(int(c.num("page", 1)), 1) - 1) * size, size, nil
}

// whole renders a list that is never paged; empty gives an empty object.
func whole[T any](name string, rows []T, render func(T) object) (object, error) {
	if len(rows) == 0 {
		return object{}, nil
	}
	shown := make([]object, len(rows))
	for i, r := range rows {
		shown[i] = render(r)
	}
	return obj("count", len(rows), name, shown), nil
}

// success is the reply of a command that only says that it worked.
func success() object { return obj("success", true) }
