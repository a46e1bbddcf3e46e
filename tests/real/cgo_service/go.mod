module cgoservice

go 1.19
