// Textures of 16-bit floats; arithmetic stays in 32 bits.
alias Readable = texture_storage_2d<rgba16float, read>;
alias Writable = texture_storage_2d<rgba16float, write>;
