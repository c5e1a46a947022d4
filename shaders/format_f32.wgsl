// Textures of 32-bit floats.
alias Readable = texture_storage_2d<rgba32float, read>;
alias Writable = texture_storage_2d<rgba32float, write>;
