module tide.test/cgo

go 1.19
